// One request for each kind of run.
#include "publication/rerun.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/python_number.h"
#include "publication/evidence.h"
#include "results/record.h"
#include "runs/agentic_package.h"
#include "runs/hosts.h"
#include "runs/measure.h"
#include "runs/native_run.h"
#include "runs/one_node.h"
#include "runs/package.h"
#include "runs/run_sources.h"
#include "store/recompute.h"

namespace aggregate_power {
namespace {

// What lies in an archive is only read where a run in a store is.
std::string disk_path(const StorePath& place) {
  if (!place.tree->is_archive()) return place.path;
  throw Error(fmt::format("{}: is in an archive: unpack it", place.display));
}

std::string found_path(const RunRecord& record, const std::string& name) {
  const auto place = record.find(name);
  return place ? disk_path(*place) : name;
}

NamedOptions recorded_options(const RunRecord& record) {
  NamedOptions options;
  for (const auto& [name, value] : record.from().at("options").members) {
    options.emplace_back(name, value.text);
  }
  return options;
}

// The zone in which stamps without an offset were read, unless a file beside them says it.
std::optional<Zone> zone_in_record(const JsonValue& facts) {
  const JsonValue& name = facts.at("timezone");
  const JsonValue& offset = facts.at("utc_offset");
  const std::string& source = facts.at("timezone_source").text;
  if (!name.is_string() || source == "file" || source == "stamps") return std::nullopt;
  try {
    // "local" was the zone of another machine.
    if (name.text != "local") return Zone::parse(name.text);
  } catch (const Error&) {  // what only people can read
  }
  return offset.is_string() ? std::optional(Zone::parse(offset.text)) : std::nullopt;
}

bool is_extended(const RunRecord& record, const JsonValue& aggregate) {
  return record.content.find("power_percentile_method") != nullptr ||
         aggregate.find("power_audit") != nullptr;
}

void set_run_options(const RunRecord& record, const JsonValue& aggregate, RunOptions& run) {
  const JsonValue& content = record.content;
  const JsonValue& from = record.from();
  run.contract =
      from.at("contract").text == name(Contract::august) ? Contract::august : Contract::october;
  const bool is_mean = content.at("integration_method").text == "mean_of_sample_buckets";
  run.schema_version = is_mean ? 1 : 2;
  run.finds_gpus = from.find("expected_gpu_count_source") != nullptr;
  if (!run.finds_gpus) run.expected_num_gpus = content.at("expected_gpu_count").as_integer();
  for (const JsonValue& gpu : content.at("selected_gpus").items) run.gpus.names.push_back(gpu.text);
  for (const JsonValue& column : from.at("columns").items) run.columns.all.push_back(column.text);
  run.zone = zone_in_record(from);
  run.extended = is_extended(record, aggregate);
  for (const JsonValue& witness : content.at("witnesses").items) {
    run.witnesses.push_back(found_path(record, witness.at("file").text));
  }
  set_unrecorded_options(recorded_options(record), run);
  std::string& requests = run.requests.file;
  if (!requests.empty()) requests = found_path(record, requests);
  std::string& lines = run.requests.per_request;
  if (!lines.empty()) lines = found_path(record, lines);
}

// What a command would have written.
template <typename Request>
Rerun taken(Request request, CommandOutput (*run)(const Request&)) {
  Rerun rerun{.fault = "it was not computed"};
  request.dry_run = true;
  request.requests.take_lines = [&](const std::string& text) { rerun.request_lines = text; };
  request.take_plan = [&](const WritePlan& plan) {
    rerun.fault.clear();
    rerun.edits = plan.edits;
    rerun.record = parse_json(plan.record({}, {}));
  };
  run(request);
  return rerun;
}

// ---- Runs that are not in a store

Rerun rerun_one_node(const RunRecord& record, const StorePath& aggregate,
                     const JsonValue& content) {
  AggregateRequest request;
  set_run_options(record, content, request);
  request.csv = found_path(record, record.telemetry());
  request.bench_result = found_path(record, record.benchmark());
  request.agg_result = disk_path(aggregate);
  request.validation_result = record.place.path;
  return taken(request, aggregate_power::aggregate);
}

// The files of several recordings; those of one may have a comma in their name.
std::vector<std::string> recorded_telemetry(const RunRecord& record) {
  const std::string named = record.telemetry();
  if (record.find(named)) return {found_path(record, named)};
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin <= named.size();) {
    const std::size_t end = std::min(named.find(", ", begin), named.size());
    paths.push_back(found_path(record, named.substr(begin, end - begin)));
    begin = end + 2;
  }
  return paths;
}

Rerun rerun_measure(const RunRecord& record, const StorePath& aggregate, const JsonValue& content) {
  MeasureRequest request;
  set_run_options(record, content, request);
  request.telemetry = recorded_telemetry(record);
  if (!record.benchmark().empty()) request.result = found_path(record, record.benchmark());
  request.out = disk_path(aggregate);
  return taken(
      request, +[](const MeasureRequest& asked) {
        std::ignore = measure_run(asked);
        return CommandOutput();
      });
}

std::optional<Zone> profile_zone_of(const NamedOptions& options) {
  const auto zone = std::ranges::find(options, "profile_timezone", [](const auto& option) {
    return std::string_view(option.first);
  });
  return zone == options.end() ? std::nullopt : std::optional(Zone::parse(zone->second));
}

Rerun rerun_agentic(const RunRecord& record, const StorePath& aggregate, const JsonValue& content) {
  AgenticRequest request;
  set_run_options(record, content, request);
  const NamedOptions options = recorded_options(record);
  request.result_dir = disk_path(*record.place.folder);
  request.agg_result = disk_path(aggregate);
  request.profile_zone = profile_zone_of(options);
  for (const auto& [name, value] : options) {
    if (name == "artifact_dir") request.artifact_dir = found_path(record, value);
  }
  return taken(request, aggregate_agentic);
}

Role role_named(const std::string& name) {
  return name == "prefill" ? Role::prefill : name == "decode" ? Role::decode : Role::agg;
}

// None, if all GPUs are of one deployment: then no role was given.
std::vector<RoleShare> recorded_roles(const RunRecord& record) {
  std::vector<RoleShare> roles;
  bool are_all_agg = true;
  for (const auto& [gpu, role] : record.content.at("per_gpu_role").members) {
    const std::size_t slash = std::min(gpu.find('/'), gpu.size() - 1);
    roles.push_back({role_named(role.text), gpu.substr(0, slash), {}, gpu.substr(slash + 1)});
    are_all_agg = are_all_agg && role.text == "agg";
  }
  return are_all_agg ? std::vector<RoleShare>() : roles;
}

Rerun rerun_hosts(const RunRecord& record, const StorePath& aggregate, const JsonValue& content) {
  HostsRequest request;
  set_run_options(record, content, request);
  for (const auto& [host, read] : record.from().at("hosts").members) {
    request.hosts.push_back({host, found_path(record, read.at("telemetry").text), {}});
    request.clock_offsets_s[host] = read.at("clock_offset_s").as_double();
    if (!request.zone) request.zone = zone_in_record(read);
    if (!request.columns.all.empty()) continue;
    for (const JsonValue& column : read.at("columns").items) {
      request.columns.all.push_back(column.text);
    }
  }
  request.roles = recorded_roles(record);
  request.bench_result = found_path(record, record.benchmark());
  request.agg_result = disk_path(aggregate);
  request.validation_result = record.place.path;
  return taken(request, aggregate_hosts);
}

void set_package(const RunRecord& record, PackageOptions& package, RoleCounts& gpus,
                 std::string& power_dir) {
  set_unrecorded_options(recorded_options(record), package, gpus);
  power_dir = found_path(record, record.telemetry());
  package.logs_root = found_path(record, package.logs_root);
}

Rerun rerun_package(const RunRecord& record, const StorePath& aggregate, const JsonValue& content) {
  MultinodeRequest request;
  set_run_options(record, content, request);
  request.finds_gpus = false;
  set_package(record, request, request.gpus, request.power_dir);
  request.bench_result = found_path(record, record.benchmark());
  request.agg_result = disk_path(aggregate);
  request.validation_result = record.place.path;
  const bool is_native = record.content.find("telemetry_kind") != nullptr;
  return taken(request, is_native ? multinode_native : multinode);
}

Rerun rerun_agentic_package(const RunRecord& record, const StorePath& aggregate,
                            const JsonValue& content) {
  AgenticRequest request;
  set_run_options(record, content, request);
  request.finds_gpus = false;
  request.expected_num_gpus.reset();
  RoleCounts none;
  set_package(record, request, none, request.power_dir);
  for (const auto& [name, value] : recorded_options(record)) {
    if (name != "expected_num_gpus") continue;
    request.finds_gpus = value == "auto";
    if (!request.finds_gpus) request.expected_num_gpus = std::stoll(value);
  }
  request.result_dir = disk_path(*record.place.folder);
  request.agg_result = disk_path(aggregate);
  return taken(request, aggregate_agentic_nodes);
}

// ---- Runs in a store

Candidates only(StorePath place) {
  Candidates candidates;
  candidates.places.push_back(std::move(place));
  return candidates;
}

RecomputeOptions store_options(const RunRecord& record) {
  const JsonValue& from = record.from();
  const JsonValue& given = from.at("options");
  RecomputeOptions options;
  set_run_options(record, JsonValue::object(), options);
  options.extended = false;
  options.finds_gpus = false;
  options.expected_num_gpus = python_int(given.at("expected_num_gpus").text);
  options.schema_version = static_cast<int>(given.at("schema_version").as_integer().value_or(2));
  if (given.at("columns").is_string()) {
    options.columns.all = parse_column_names(given.at("columns").text);
  }
  options.expected_producer_sha = given.at("expected_producer_sha").text;
  options.salvage = given.at("salvage").is_true();
  options.force = true;
  return options;
}

std::string run_name(const RunRecord& record) {
  constexpr std::string_view kBegin = "power_validation_";
  std::string name = path_stem(last_name(record.place.path));
  return name.starts_with(kBegin) ? name.substr(kBegin.size()) : name;
}

bool is_of_agents(const RunRecord& record) {
  for (const JsonValue& source :
       {record.from().at("window_source"), record.content.at("window_source")}) {
    if (source.text == kProfileWindowSource || source.text == kFormalWindowSource) return true;
  }
  return false;
}

// Nullopt, if a piece is gone.
std::optional<RunPieces> recorded_pieces(const RunRecord& record) {
  if (auto package = recorded_package(record)) {
    PackagePieces pieces;
    pieces.results = only(std::move(package->benchmark));
    pieces.of_agents = is_of_agents(record);
    pieces.logs.push_back(std::move(package->logs));
    return pieces;
  }
  auto telemetry = record.find(record.telemetry());
  auto benchmark = record.find(record.benchmark());
  if (!telemetry || !benchmark || !telemetry->facts) return std::nullopt;
  return OneNodePieces{only(std::move(*telemetry)), only(std::move(*benchmark)),
                       is_of_agents(record)};
}

Rerun rerun_stored(const RunRecord& record, const StorePath& aggregate) {
  const auto pieces = recorded_pieces(record);
  if (!pieces) return {.fault = "its telemetry or its benchmark result is gone"};
  StoredRun run;
  run.name = run.artifact = run_name(record);
  run.folder = *record.place.folder;
  run.aggregate = aggregate;
  run.layout = last_name(aggregate.path).starts_with("agg_") ? Layout::folder : Layout::agentic;
  const Recomputed now = recompute(run, *pieces, store_options(record));
  if (!now.plan) return {.fault = now.reasons.text()};
  return {{}, parse_json(now.plan->record({}, {})), now.plan->edits};
}

}  // namespace

std::optional<RecordedPackage> recorded_package(const RunRecord& record) {
  const bool is_native = record.content.find("telemetry_kind") != nullptr;
  if (!is_native && record.content.find("selected_window") == nullptr) return std::nullopt;
  auto power = record.find(record.telemetry());
  auto benchmark = record.find(record.benchmark());
  if (!power || !benchmark || !power->folder) return std::nullopt;
  MultinodeLogs logs;
  logs.logs = *power->folder;
  logs.is_native = is_native;
  logs.power = std::move(power);
  if (is_of_agents(record)) {
    logs.agentic = folder_in(logs.power->folder, "agentic");
    logs.formal_results = {*benchmark};
  }
  return RecordedPackage{std::move(logs), std::move(*benchmark)};
}

Rerun rerun(const RunRecord& record, const StorePath& aggregate) {
  if (record.is_of_store()) return rerun_stored(record, aggregate);
  const JsonValue content =
      json_object_of(read_all(*aggregate.tree->open(aggregate.path).source()), aggregate.display);
  const bool is_package = record.content.find("telemetry_kind") != nullptr ||
                          record.content.find("selected_window") != nullptr;
  const bool is_measured = !content.members.empty() && content.members[0].first == kMeasuredKey;
  const auto run = is_measured                              ? rerun_measure
                   : is_package && is_of_agents(record)     ? rerun_agentic_package
                   : is_package                             ? rerun_package
                   : record.from().find("hosts") != nullptr ? rerun_hosts
                   : is_of_agents(record)                   ? rerun_agentic
                                                            : rerun_one_node;
  return run(record, aggregate, content);
}

}  // namespace aggregate_power
