// One run of a package: judged, recorded, patched and told.
#include "runs/package_run.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "packages/inputs.h"
#include "results/package_record.h"
#include "runs/assess.h"

namespace aggregate_power {
namespace {

PackageVerdict verdict_of(const PackageQuestion& question) {
  try {
    return judge_package(question);
  } catch (const std::exception& error) {  // out of memory: the old claim must not stay
    PackageVerdict verdict;
    verdict.reasons.add(Reason::package_recompute_invalid, error.what());
    verdict.failures.emplace_back(error.what());
    return verdict;
  }
}

PackageRecord record_of(const PackageRun& run, const PackageVerdict& verdict) {
  PackageRecord record;
  record.telemetry_source = run.question.place.power_dir;
  record.benchmark_result = run.question.result_name;
  record.expected_producer_sha = run.question.expected_producer_sha;
  record.salvage = run.question.salvage;
  record.window_source = run.window_source;
  if (run.failed_requests) record.failed_requests = failed_requests(*run.failed_requests, verdict);
  return record;
}

void add_inputs(const PackageQuestion& question, WritePlan& plan) {
  PackageInputs inputs = package_inputs(question.place);
  inputs.files.push_back(question.result_name);
  inputs.files.push_back(plan.aggregate_path);
  plan.inputs.insert(plan.inputs.end(), inputs.files.begin(), inputs.files.end());
  plan.input_folders = std::move(inputs.folders);
}

std::string success_line(const PackageVerdict& verdict, const std::string& agg_result) {
  const auto value = [&](std::string_view key) {
    const auto metric = std::ranges::find(verdict.metrics, key, &Metric::key);
    return metric == verdict.metrics.end() ? 0 : metric->value;
  };
  return fmt::format(
      "avg_power_w={:.2f} total_gpu_energy_j={:.2f} prefill_gpu_energy_j={:.2f} "
      "decode_gpu_energy_j={:.2f} (n={}) -> {}",
      value("avg_power_w"), value("total_gpu_energy_j"), value("prefill_gpu_energy_j"),
      value("decode_gpu_energy_j"), verdict.expected_gpus, agg_result);
}

// Of a valid run.
std::vector<std::string> warnings_of(const std::string& power_dir, const PackageVerdict& verdict) {
  std::vector<std::string> warnings;
  for (const auto& [name, count] : verdict.salvaged) {
    warnings.push_back(fmt::format("{}: salvaged: {} ({})", power_dir, name, count));
  }
  if (verdict.cpu && !verdict.cpu->reasons.empty()) {
    warnings.push_back(fmt::format("CPU power not valid: {}", verdict.cpu->reasons.text()));
  }
  if (const auto doubt = doubt_about(verdict.metrics.front().value)) {
    warnings.push_back(fmt::format("{}: {}", power_dir, *doubt));
  }
  return warnings;
}

}  // namespace

CommandOutput deliver_package(PackageRun run) {
  PackageQuestion& question = run.question;
  try {
    question.result = question.place.tree->open(question.result_name);
  } catch (const FileError& error) {
    question.result_fault = error.what();
  }
  question.with_power = run.failed_requests && run.failed_requests->count > 0;
  const PackageVerdict verdict = verdict_of(question);
  const PackageRecord record = record_of(run, verdict);

  FinishedRun finished;
  finished.reasons = verdict.reasons;
  finished.warnings = std::move(run.warnings);
  finished.plan = std::move(run.plan);
  WritePlan& plan = finished.plan;
  add_inputs(question, plan);
  plan.valid = claims_power(verdict);
  plan.edits = package_edits(verdict, plan.record_path.substr(plan.record_path.rfind('/') + 1));
  plan.edits_without_audit = unaudited_package_edits(verdict);
  plan.leftovers = {dashboard_leftovers(), cpu_leftovers()};
  plan.record = [&](const Reasons& aggregate_reasons, std::string_view) {
    return package_record_text(verdict, record, aggregate_reasons);
  };
  if (finished.reasons.empty()) {
    finished.success_line = success_line(verdict, plan.aggregate_path);
    const auto warnings = warnings_of(question.place.power_dir, verdict);
    finished.warnings.insert(finished.warnings.end(), warnings.begin(), warnings.end());
  }
  return deliver(finished, run.delivery);
}

}  // namespace aggregate_power
