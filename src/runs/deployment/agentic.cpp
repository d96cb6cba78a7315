// Finds, checks and measures one agentic run on one node.
#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "core/load/benchmark.h"
#include "core/record/record_write.h"
#include "energy/shares/requests.h"
#include "generators/aiperf.h"
#include "generators/generator_table.h"
#include "generators/request_file.h"
#include "packages/srt_slurm/agentic_checks.h"
#include "recorders/recorder_context.h"
#include "recorders/recording.h"
#include "runs/deployment/agentic.h"
#include "runs/deployment/package.h"
#include "runs/deployment/run_kinds.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/requests.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// The file with that name, possibly compressed; the name itself if there is none.
std::string find_file(const Tree& tree, const std::string& folder, std::string_view name) {
  for (const std::string_view compression : kCompressions) {
    std::string path = path_below(folder, fmt::format("{}{}", name, compression));
    if (tree.find_file(path)) return path;
  }
  return path_below(folder, name);
}

// The folders in `folder`, itself included, that have records. A folder that cannot be listed has
// none: its files are reported as missing.
std::vector<std::string> profiles_in(const Tree& tree, const std::string& folder) {
  std::vector<std::string> folders;
  try {
    for (const std::string& records : all_records(tree, folder)) {
      const std::size_t slash = records.find('/');
      folders.push_back(slash == records.npos ? folder
                                              : path_below(folder, records.substr(0, slash)));
    }
  } catch (const FileError&) {
  }
  return folders;
}

// Where the profile is.
struct ProfilePlace {
  std::string folder;
  std::vector<std::string> candidates;  // if there are several; then `folder` is none of them
  std::vector<std::string> warnings;
};

// In aiperf_artifacts the first profile counts, as in the original (contract.md D).
ProfilePlace profile_in_artifacts(const Tree& tree, const std::string& artifacts) {
  const std::vector<std::string> all = profiles_in(tree, artifacts);
  if (all.empty()) return {artifacts, {}, {}};
  ProfilePlace place{all[0], {}, {}};
  if (all.size() == 1) return place;
  const auto records_in = [&](const std::string& folder) {
    return find_file(tree, folder, kProfileRecords).substr(artifacts.size() + 1);
  };
  place.warnings.push_back(fmt::format("{}: the profile is {}; {} {} ignored", artifacts,
                                       records_in(all[0]), records_in(all[1]),
                                       all.size() == 2 ? "is" : "and others are"));
  return place;
}

// Elsewhere nothing says which one of several is the run's.
ProfilePlace only_profile(std::vector<std::string> candidates, const std::string& otherwise) {
  if (candidates.size() == 1) return {candidates[0], {}, {}};
  return {otherwise, std::move(candidates), {}};
}

ProfilePlace find_profile(const RunSpec& request) {
  const Tree& tree = *request.tree;
  if (!request.artifact_dir.empty()) {
    std::vector<std::string> named = profiles_in(tree, request.artifact_dir);
    if (!named.empty() && named[0] == request.artifact_dir) named.resize(1);
    return only_profile(std::move(named), request.artifact_dir);
  }
  const std::string artifacts = path_below(request.result_dir, kProfileFolder);
  ProfilePlace place = profile_in_artifacts(tree, artifacts);
  if (tree.find_file(find_file(tree, place.folder, kProfileRecords))) return place;
  std::vector<std::string> candidates =
      profiles_in(tree, path_below(request.result_dir, kDefaultProfileFolder));
  if (tree.find_file(find_file(tree, request.result_dir, kProfileRecords))) {
    candidates.push_back(request.result_dir);
  }
  return only_profile(std::move(candidates), artifacts);
}

// The files of a result folder.
struct Files {
  std::shared_ptr<const Tree> tree;
  std::string telemetry;
  std::string window;
  std::string zone;
  std::string summary;
  std::string records;
  ProfilePlace profile;
};

Files files_of(const RunSpec& request) {
  const std::string& result_dir = request.result_dir;
  Files files;
  files.tree = request.tree;
  files.telemetry = find_file(*files.tree, result_dir, "gpu_metrics.csv");
  files.window = path_below(result_dir, "agentic_power_window.json");
  files.zone = path_below(result_dir, kCapturedZone);
  files.profile = find_profile(request);
  files.summary = find_file(*files.tree, files.profile.folder, kProfileSummary);
  files.records = find_file(*files.tree, files.profile.folder, kProfileRecords);
  return files;
}

// All files that are read or might have been, and the aggregate.
std::vector<std::string> inputs_of(const Files& files, const std::string& aggregate) {
  std::vector<std::string> inputs = with_side_files(files.telemetry);
  inputs.insert(inputs.end(), {files.summary, files.records, aggregate});
  for (const std::string& folder : files.profile.candidates) {
    inputs.push_back(find_file(*files.tree, folder, kProfileSummary));
    inputs.push_back(find_file(*files.tree, folder, kProfileRecords));
  }
  return inputs;
}

std::unique_ptr<ByteSource> expanded(const Tree& tree, const std::string& path) {
  return decompressed(tree.open(path).source(), path);
}

// A zone file that cannot be read does no harm if all times have an offset.
LoadFile other_file(const Files& files, std::string_view role) {
  if (role == kProfileSummaryRole) return {expanded(*files.tree, files.summary), files.summary};
  if (!files.tree->find_file(files.zone)) return {nullptr, files.zone};
  try {
    std::string text = read_up_to(*files.tree->open(files.zone).source(), kMostZoneBytes);
    return {std::make_unique<ResumedSource>(std::move(text), std::make_unique<MemorySource>("")),
            files.zone};
  } catch (const FileError& error) {
    return {nullptr, error.what(), true};
  }
}

LoadReading read_profile_of(const RunSpec& request, const Files& files) {
  LoadReading none;
  if (const auto& candidates = files.profile.candidates; !candidates.empty()) {
    none.reasons.add(Reason::profile_artifacts_ambiguous, joined_text(candidates, ", "));
    return none;
  }
  for (const std::string& path : {files.summary, files.records}) {
    if (files.tree->find_file(path)) continue;
    none.reasons.add(Reason::profile_artifacts_missing, path);
    return none;
  }
  try {
    return read_load({.name = files.records,
                      .open = [&] { return expanded(*files.tree, files.records); },
                      .other = [&](std::string_view role) { return other_file(files, role); },
                      .zone = request.profile_zone});
  } catch (const FileError& error) {
    none.reasons.add(Reason::profile_artifacts_invalid, error.what());
    return none;
  }
}

// The window's file, written before anything is measured: what is wrong with it, and what a dry run
// would change.
struct WrittenWindow {
  Reasons faults;
  std::vector<std::string> changes;
};

WrittenWindow write_window(const RunSpec& request, const Files& files, const Load& load) {
  WrittenWindow written;
  const std::string& path = files.window;
  const std::string text = benchmark_text(load);
  try {
    for (const std::string& input : inputs_of(files, request.agg_result)) {
      if (is_same_file(path, input)) throw Error(fmt::format("{} would overwrite {}", path, input));
    }
    if (!request.dry_run) {
      replace_file(path, text);
      return written;
    }
    require_replaceable(path);
    written.changes.push_back(fmt::format("{}: {}", path,
                                          holds(path, text)       ? "unchanged"
                                          : is_regular_file(path) ? "would be replaced"
                                                                  : "would be written"));
  } catch (const std::exception& error) {
    written.faults.add(Reason::power_window_unwritable, error.what());
  }
  return written;
}

RequestRun requests_of_agents(const RunSpec& request, const Files& files) {
  return requests_of(request, files.records, inputs_of(files, request.agg_result),
                     {files.window, target_of(request).record_path});
}

Result measured_agents(MeasurementRequest wanted, const RunSpec& request, const Files& files,
                       const LoadReading& reading) {
  RunRecordings recordings({files.telemetry}, request);
  Recording& recording = recordings.open.front();
  recording.hash_while_read();
  PlacedLoad placed{.reading = {.load = reading.load, .failure = reading.failure}};
  refuse_failed(request.contract, placed.reading);
  SeenPower power;
  if (reading.failed_requests > 0 || request.requests.is_asked()) {
    power.watch(wanted, reading.load->window);
  }
  Result result = evaluate(wanted, recordings, placed, {files.records, request.agg_result}).result;
  FailedRequestsRequest failed;
  failed.count = reading.failed_requests;
  failed.records = [&] { return expanded(*files.tree, files.records); };
  result.failed_requests = failed_requests(failed, result, power.curve());
  add_request_energy(requests_of_agents(request, files), recording, power, result);
  if (!reading.doubt.empty()) result.warnings.push_back(reading.doubt);
  append(result.warnings, reading.notes);
  if (auto input = recording.hashed_input()) result.sources.inputs.push_back(std::move(*input));
  return result;
}

WritePlan target_of_agents(const RunSpec& request, const Files& files) {
  WritePlan target = target_of(request);
  target.inputs = inputs_of(files, request.agg_result);
  target.inputs.push_back(files.window);
  if (request.uncertainty.is_wanted || request.requests.is_asked()) {
    append(target.inputs, model_files_beside(files.telemetry));
  }
  if (!request.requests.file.empty()) target.inputs.push_back(requests_path(request.requests.file));
  return target;
}

}  // namespace

LoadReading read_agents_profile(const RunSpec& run) { return read_profile_of(run, files_of(run)); }

CommandOutput aggregate_agentic(const RunSpec& request) {
  const Files files = files_of(request);
  MeasurementRequest wanted{request};
  wanted.with_snapshots = true;
  wanted.may_use_threads = true;
  check_request_files(requests_of_agents(request, files));
  const LoadReading reading = read_profile_of(request, files);
  WrittenWindow window;
  if (reading.reasons.empty()) window = write_window(request, files, *reading.load);
  Reasons faults = reading.reasons;
  faults.add(window.faults);
  Result result = faults.empty() ? measured_agents(wanted, request, files, reading)
                                 : unmeasured(wanted, std::nullopt, faults);
  result.telemetry_source = files.telemetry;
  result.benchmark_result = files.window;
  result.window_source = kProfileWindowSource;
  result.audit_source = request.audit_source.value_or("");
  result.is_audit_requested = request.audit_source.has_value();
  result.sources.options = options_for_record(request, RunKind::recording);
  result.warnings.insert(result.warnings.begin(), files.profile.warnings.begin(),
                         files.profile.warnings.end());
  if (!faults.empty()) refuse_request_energy(request.requests, result);
  CommandOutput output =
      deliver(std::move(result), target_of_agents(request, files), request.delivery());
  output.out.insert(output.out.begin(), window.changes.begin(), window.changes.end());
  return output;
}

// ---- Finds, checks and measures one load of agents on several nodes.

namespace {

AgenticChecks gates_of(const RunSpec& request) {
  if (request.lacks_contract) {
    AgenticChecks checks;
    checks.reasons.add(Reason::multinode_power_contract_missing);
    return checks;
  }
  AgenticLoad load{.tree = request.tree,
                   .result_dir = request.result_dir,
                   .logs_root = request.logs_root,
                   .aggregate = std::nullopt,
                   .aggregate_fault = {},
                   .expected_producer_sha = request.expected_producer_sha,
                   .expected_num_gpus = request.expected_num_gpus,
                   .finds_gpus_of_node = request.finds_gpus,
                   .aggregate_name = request.agg_result};
  try {
    load.aggregate = read_whole(load.tree->open(request.agg_result), kAggregateFile);
  } catch (const FileError& error) {
    load.aggregate_fault = error.what();
  }
  try {
    return check_agentic_load(load);
  } catch (const std::exception& error) {  // out of memory: an old claim must not stay
    AgenticChecks checks;
    checks.reasons.add(Reason::agentic_aggregate_invalid, error_text(error));
    return checks;
  }
}

// All files that are read in the result folder, whether usable or not.
std::vector<std::string> inputs_in(const Tree& tree, const std::string& result_dir) {
  std::vector<std::string> inputs;
  try {
    for (const std::string& name : formal_results(tree, result_dir)) {
      inputs.push_back(path_below(result_dir, name));
    }
  } catch (const FileError&) {  // cannot be listed
  }
  const std::string profile = path_below(result_dir, std::string(kProfileFolder));
  try {
    if (const auto records = find_records(tree, profile)) {
      inputs.push_back(path_below(profile, *records));
    }
  } catch (const FileError&) {
  }
  return inputs;
}

// The record as power_audit names it: below the folder that is called LOGS, wherever that is.
std::string audit_source(const RunSpec& request, const std::string& record) {
  const std::string folder = request.tree->resolved(request.result_dir);
  const std::string root = request.tree->resolved(request.logs_root);
  if (folder.empty() || root.empty() || !(folder + '/').starts_with(root + '/')) return {};
  return fmt::format("LOGS{}/{}", folder.substr(root.size()), last_name(record));
}

}  // namespace

CommandOutput aggregate_agentic_nodes(const RunSpec& request) {
  const AgenticChecks checks = gates_of(request);
  PackageRun run;
  PackageQuestion& question = run.question;
  question = package_question(request);
  question.result_name = checks.formal_result.empty() ? request.result_dir : checks.formal_result;
  question.role_gpus = checks.gpus;
  question.refusal = checks.reasons;
  question.window_file = checks.window_file;
  if (checks.reasons.empty()) {
    run.failed_requests = failed_requests_in(request.tree, request.result_dir, run.warnings);
    if (run.failed_requests) question.failure = run.failed_requests->failure;
  }
  run.window_source = kFormalWindowSource;
  run.options = options_for_record(request, RunKind::agents_package);
  run.target = target_of(request);
  run.target.inputs = inputs_in(*request.tree, request.result_dir);
  if (rules_of(request.contract).names_audit_by_logs) {
    run.audit_source = audit_source(request, run.target.record_path);
  }
  if (request.audit_source) run.audit_source = *request.audit_source;
  run.is_audit_requested = request.audit_source.has_value();
  run.asked = request;
  return deliver_package(std::move(run));
}

// ---- Computes the energy share of an agentic run's failed requests.

namespace {

// Returns nullopt if some request does not say when it was in flight, or if none was in the window,
// because then the window's zone is wrong.
std::optional<FailedShare> share_of(ByteSource& records, Window window) {
  FailedShare share;
  bool is_known = true;
  bool is_in_window = false;
  read_profile_records({records, {}}, [&](const ProfileRecord& record) {
    is_known = is_known && record.in_flight.has_value();
    if (!is_known) return;
    share.add(*record.in_flight, record.is_profiling && record.failed);
    is_in_window |= record.in_flight->end_unix_s > window.start_unix_s &&
                    record.in_flight->start_unix_s < window.end_unix_s;
  });
  return is_known && is_in_window ? std::optional(std::move(share)) : std::nullopt;
}

}  // namespace

std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir) {
  const std::string profile = path_below(result_dir, std::string(kProfileFolder));
  const auto records = find_records(*tree, profile);
  if (!records) return std::nullopt;
  FailedRequestsRequest request;
  request.name = path_below(profile, *records);
  request.records = [file = tree->open(request.name)] {
    return decompressed(file.source(), file.name());
  };
  const std::unique_ptr<ByteSource> source = request.records();
  std::int64_t completed = 0;
  std::uint64_t cancelled = 0;
  read_profile_records({*source, request.name}, [&](const ProfileRecord& record) {
    if (!record.is_profiling) return;
    record.failed ? ++request.count : static_cast<std::uint64_t>(++completed);
    if (record.failed && record.cancelled) ++cancelled;
  });
  request.failure = failure_by_counts(request.count - cancelled, completed);
  return request;
}

std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir,
                                                        std::vector<std::string>& warnings) {
  try {
    return failed_requests_in(tree, result_dir);
  } catch (const std::exception& error) {
    warnings.push_back(fmt::format("failed requests are not known: {}", error.what()));
    return std::nullopt;
  }
}

FailedRequests failed_requests(const FailedRequestsRequest& request, const Result& result,
                               const std::optional<FleetPower>& power) {
  FailedRequests failed{request.count, std::nullopt};
  if (!result.reasons.empty()) return failed;
  if (request.count == 0) {
    failed.energy_share_j = 0;
    return failed;
  }
  try {
    std::optional<FailedShare> share = share_of(*request.records(), result.load->window);
    if (share && power) failed.energy_share_j = share->energy_j(*power);
  } catch (const std::exception&) {  // changed meanwhile
  }
  return failed;
}

}  // namespace aggregate_power
