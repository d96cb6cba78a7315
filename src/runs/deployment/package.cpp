// Checks a package, of either kind, and delivers its result.
#include <exception>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/energy/plausibility.h"
#include "energy/uncertainty/uncertainty.h"
#include "packages/srt_slurm/package.h"
#include "recorders/metric_labels.h"
#include "runs/deployment/native.h"
#include "runs/deployment/package.h"
#include "runs/deployment/run_kinds.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/extras.h"

namespace aggregate_power {
namespace {

// Each GPU's name begins with its host.
std::size_t hosts_of(const std::vector<GatheredReadings>& gpus) {
  std::set<std::string> hosts;
  for (const GatheredReadings& gpu : gpus) hosts.insert(gpu.gpu.substr(0, gpu.gpu.find('/')));
  return hosts.size();
}

// DCGM's unless the manifest names another exporter's metric.
Sensor sensor_of(const PackageFacts& package) {
  Sensor sensor = sensor_of_metric(package.source_metric.value_or("DCGM_FI_DEV_POWER_USAGE"));
  const std::string scope = package.power_scope.value_or("");
  for (const char* const larger : {"module", "node", "wall", "rail"}) {
    if (scope.find(larger) != std::string::npos) sensor.scope = larger;
  }
  return sensor;
}

Result checked(const PackageRun& run) {
  const PackageQuestion& question = run.question;
  try {
    const bool is_wanted = run.asked.may_need_interval();
    return evaluate_package(run.asked, is_wanted ? hardware_in(run.target.aggregate_path) : "",
                            question);
  } catch (const std::exception& error) {  // out of memory: an old claim must not stay
    Result result;
    result.way = Way::package;
    result.expected_gpus = 0;
    PackageFacts& facts = result.package.emplace();
    facts.expected_producer_sha = question.expected_producer_sha;
    facts.salvage = question.salvage;
    result.reasons.add(Reason::package_recompute_invalid, error.what());
    result.failures.emplace_back(error.what());
    refuse_extras(run.asked, result);
    return result;
  }
}

// Of a package of either kind.
void open_result(auto& question) {
  try {
    question.result = question.place.tree->open(question.result_name);
  } catch (const FileError& error) {
    question.result_fault = error.what();
  }
}

void add_inputs(const PackageQuestion& question, WritePlan& target) {
  PackageInputs inputs = package_inputs(question.place);
  inputs.files.push_back(question.result_name);
  inputs.files.push_back(target.aggregate_path);
  append(target.inputs, inputs.files);
  target.input_folders = std::move(inputs.folders);
}

// Warnings about a valid run.
std::vector<std::string> doubts_of(const std::string& power_dir, const Result& result) {
  std::vector<std::string> warnings;
  for (const auto& [name, count] : result.package->salvaged) {
    warnings.push_back(fmt::format("{}: salvaged: {} ({})", power_dir, name, count));
  }
  if (result.cpu && !result.cpu->reasons.empty()) {
    warnings.push_back(fmt::format("CPU power not valid: {}", result.cpu->reasons.text()));
  }
  if (const auto doubt = doubt_about(*value_of(result.metrics, "avg_power_w"))) {
    warnings.push_back(fmt::format("{}: {}", power_dir, *doubt));
  }
  return warnings;
}

Result checked_native(const NativeQuestion& question) {
  try {
    return check_native(question);
  } catch (const std::exception& error) {  // out of memory: an old claim must not stay
    Result result;
    result.way = Way::native;
    result.native.emplace();
    result.telemetry_source = question.place.power_dir;
    result.benchmark_result = question.result_name;
    result.reasons.add(Reason::native_node_invalid, error.what());
    refuse_extras(question.run, result);
    return result;
  }
}

}  // namespace

Result evaluate_package(const RunOptions& run, const std::string& hardware,
                        PackageQuestion question) {
  SensorReadings readings;
  if (run.may_need_interval()) question.readings = &readings.gpus;
  Result result = check_package(question);
  accept_reasons(result);
  for (const GpuResult& gpu : result.gpus) readings.published_j[gpu.name] = gpu.energy.energy_j;
  if (result.gpus.empty() && result.load) {
    for (const GatheredReadings& gpu : readings.gpus) {
      readings.published_j[gpu.gpu] = line_energy_j(gpu.samples, result.load->window);
    }
  }
  readings.series.schema = "srt-slurm samples";
  readings.series.sensor = sensor_of(*result.package);
  readings.hosts = hosts_of(readings.gpus);
  std::vector<SensorReadings> recordings;
  recordings.push_back(std::move(readings));
  add_extras_of_package({run, std::move(recordings), hardware}, result);
  return result;
}

PackageQuestion package_question(const RunSpec& run) {
  PackageQuestion question;
  static_cast<PackageOptions&>(question) = run;
  question.place = {run.tree, run.power_dir, run.logs_root};
  question.contract = run.contract;
  question.accepted = run.accepted;
  question.keys = run.keys;
  question.salvage = run.salvage;
  return question;
}

CommandOutput deliver_package(PackageRun run) {
  PackageQuestion& question = run.question;
  open_result(question);
  question.with_power = run.failed_requests && run.failed_requests->count > 0;
  Result result = checked(run);
  result.telemetry_source = question.place.power_dir;
  result.benchmark_result = question.result_name;
  result.window_source = run.window_source;
  result.audit_source = run.audit_source;
  result.is_audit_requested = run.is_audit_requested;
  result.sources.options = std::move(run.options);
  if (run.failed_requests) {
    result.failed_requests = failed_requests(*run.failed_requests, result, result.curve);
  }
  append(result.warnings, std::move(run.warnings));
  if (result.is_valid()) {
    append(result.warnings, doubts_of(question.place.power_dir, result));
  }
  add_inputs(question, run.target);
  return deliver(std::move(result), std::move(run.target), run.asked.delivery());
}

CommandOutput multinode(const RunSpec& request) {
  RunSpec spec = request;
  if (request.finds_gpus) {
    spec.role_gpus.aggregate = gpus_in_aggregate(request.agg_result).value_or(0);
  }
  PackageRun run;
  run.question = package_question(spec);
  run.question.result_name = request.bench_result;
  run.options = options_for_record(spec, RunKind::package);
  run.target = target_of(request);
  run.asked = request;
  return deliver_package(std::move(run));
}

CommandOutput multinode_native(const RunSpec& request) {
  NativeQuestion question;
  question.place = {request.tree, request.power_dir};
  question.result_name = request.bench_result;
  question.gpus = request.role_gpus;
  question.run = request;
  if (request.may_need_interval()) question.hardware = hardware_in(request.agg_result);
  open_result(question);
  Result result = checked_native(question);
  result.sources.options = options_for_record(request, RunKind::package);
  WritePlan target = target_of(request);
  target.inputs = native_files(question.place);
  target.inputs.insert(target.inputs.end(), {request.bench_result, request.agg_result});
  target.input_folders = {request.power_dir};
  return deliver(std::move(result), std::move(target), request.delivery());
}

}  // namespace aggregate_power
