// One request for each kind of run.
#include "verify/run/run_check.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "core/record/record_write.h"
#include "runs/deployment/run_kinds.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/measure.h"
#include "store/backfill/recompute.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {
namespace {

// What lies in an archive is only read where a run in a store is.
std::string disk_path(const StorePath& place) {
  if (!place.tree->is_archive()) return place.path;
  throw Error(fmt::format("{}: is in an archive: unpack it", place.display));
}

std::string found_path(const RunRecord& record, const std::string& name) {
  if (const auto place = record.find(name)) return disk_path(*place);
  const std::string out = record.way_out(name);
  if (!out.empty()) throw Error(fmt::format("{} {}", name, out));
  return name;
}

// The zone in which stamps without an offset were read, unless a file beside them says it.
std::optional<Zone> zone_in_record(const JsonValue& facts) {
  const std::string& source = facts.at("timezone_source").text;
  return source == "file" || source == "stamps" ? std::nullopt : recorded_zone(facts);
}

// Of a record that does not name them: invalid ones always name the method, and --audit-source sets
// a member, too.
RowKeys keys_of(const RunRecord& record, const JsonValue& aggregate) {
  const bool has_method = record.content.find("power_percentile_method") != nullptr;
  const bool has_source = record.from().at("options").find("audit_source") != nullptr;
  const bool is_all = (has_method && record.is_valid()) ||
                      (!has_source && aggregate.find("power_audit") != nullptr);
  return is_all ? RowKeys::all : RowKeys::seed;
}

void set_run_options(const RunRecord& record, const JsonValue& aggregate, RunSpec& run) {
  const JsonValue& content = record.content;
  const JsonValue& from = record.from();
  run.contract = recorded_contract(content);
  const bool is_mean = content.at("integration_method").text == "mean_of_sample_buckets";
  run.schema_version = is_mean ? 1 : 2;
  run.finds_gpus = from.find("expected_gpu_count_source") != nullptr;
  if (!run.finds_gpus) run.expected_num_gpus = content.at("expected_gpu_count").as_integer();
  for (const JsonValue& gpu : content.at("selected_gpus").items) run.gpus.names.push_back(gpu.text);
  run.columns = recorded_columns(content);
  run.keys = keys_of(record, aggregate);
  for (const JsonValue& witness : content.at("witnesses").items) {
    run.witnesses.push_back(found_path(record, witness.at("file").text));
  }
  set_recorded_options(recorded_options(record.content), run);
  run.zone = zone_in_record(from);
  for (std::string* const path :
       {&run.requests.file, &run.requests.per_request, &run.calibration, &run.quality.file}) {
    if (!path->empty()) *path = found_path(record, *path);
  }
}

// ---- Runs that are not in a store

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

void set_hosts(const RunRecord& record, RunSpec& run) {
  for (const auto& [host, read] : record.from().at("hosts").members) {
    run.hosts.push_back({host, found_path(record, read.at("telemetry").text), {}});
    run.clock_offsets_s[host] = read.at("clock_offset_s").as_double();
    if (!run.zone) run.zone = zone_in_record(read);
    if (!run.columns.all.empty()) continue;
    for (const JsonValue& column : read.at("columns").items) {
      run.columns.all.push_back(column.text);
    }
  }
  run.roles = recorded_roles(record);
}

bool is_of_agents(const RunRecord& record) {
  for (const JsonValue& source :
       {record.from().at("window_source"), record.content.at("window_source")}) {
    if (source.text == kProfileWindowSource || source.text == kFormalWindowSource) return true;
  }
  return false;
}

bool is_native(const RunRecord& record) { return record.content.find("telemetry_kind") != nullptr; }

bool is_of_package(const RunRecord& record) {
  return is_native(record) || record.content.find("selected_window") != nullptr;
}

// Where the power of the run is.
void set_telemetry(const RunRecord& record, bool is_measured, RunSpec& run) {
  if (is_measured) {
    run.telemetry = recorded_telemetry(record);
    return;
  }
  run.tree = record.place.tree;  // within the store, as every other file of the run
  if (is_of_package(record)) run.power_dir = found_path(record, record.telemetry());
  if (is_of_agents(record)) run.result_dir = disk_path(*record.place.folder);
  if (is_of_package(record)) {
    const bool has_count = record.from().at("options").find("expected_num_gpus") != nullptr;
    if (!has_count) run.expected_num_gpus.reset();
    run.finds_gpus = run.finds_gpus && has_count;
  } else if (record.from().find("hosts") != nullptr) {
    run.no_hosts = record.telemetry();
    set_hosts(record, run);
  } else if (!is_of_agents(record)) {
    run.telemetry = {found_path(record, record.telemetry())};
  }
}

// What the command would have written.
RecomputedRun recompute_single(const RunRecord& record, const StorePath& aggregate) {
  const JsonValue content = json_object_of(
      read_whole(aggregate.tree->open(aggregate.path), kAggregateFile), aggregate.display);
  RunSpec run;
  set_run_options(record, content, run);
  run.bench_result = record.benchmark();
  const bool is_measured = !content.members.empty() && content.members[0].first == kMeasuredKey;
  set_telemetry(record, is_measured, run);
  for (std::string* const path : {&run.logs_root, &run.bench_result}) {
    if (!path->empty()) *path = found_path(record, *path);
  }
  run.agg_result = run.out = disk_path(aggregate);
  if (!run.artifact_dir.empty()) run.artifact_dir = found_path(record, run.artifact_dir);
  run.validation_result = record.place.path;
  RecomputedRun now{.fault = "it was not computed"};
  run.dry_run = true;
  run.requests.take_lines = [&](const std::string& text) { now.request_lines = text; };
  run.take_plan = [&](const WritePlan& plan) {
    now.fault.clear();
    now.edits = plan.edits;
    now.record = parse_json(plan.record({}, {}));
  };
  if (is_measured) {
    std::ignore = measure_run(run);
  } else {
    std::ignore = deliver_run(run);
  }
  return now;
}

// ---- Runs in a store

Candidates only(StorePath place) {
  Candidates candidates;
  candidates.places.push_back(std::move(place));
  return candidates;
}

RecomputeOptions store_options(const RunRecord& record) {
  RecomputeOptions options;
  set_run_options(record, JsonValue::object(), options);
  options.keys = RowKeys::seed;
  options.finds_gpus = false;
  options.force = true;
  return options;
}

std::string run_name(const RunRecord& record) {
  constexpr std::string_view kBegin = "power_validation_";
  std::string name = path_stem(last_name(record.place.path));
  return name.starts_with(kBegin) ? name.substr(kBegin.size()) : name;
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

RecomputedRun recompute_stored(const RunRecord& record, const StorePath& aggregate) {
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
  if (!is_of_package(record)) return std::nullopt;
  auto power = record.find(record.telemetry());
  auto benchmark = record.find(record.benchmark());
  if (!power || !benchmark || !power->folder) return std::nullopt;
  MultinodeLogs logs;
  logs.logs = *power->folder;
  logs.is_native = is_native(record);
  logs.power = std::move(power);
  if (is_of_agents(record)) {
    logs.agentic = folder_in(logs.power->folder, "agentic");
    logs.formal_results = {*benchmark};
  }
  return RecordedPackage{std::move(logs), std::move(*benchmark)};
}

RecomputedRun recompute_run(const RunRecord& record, const StorePath& aggregate) {
  return record.is_of_store() ? recompute_stored(record, aggregate)
                              : recompute_single(record, aggregate);
}

}  // namespace aggregate_power
