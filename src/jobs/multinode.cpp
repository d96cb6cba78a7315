// One run whose power a recorder of several nodes packed.
#include "aggregate_power/jobs/multinode.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate_power/base/path.h"
#include "aggregate_power/jobs/package_record.h"
#include "aggregate_power/jobs/sidecar.h"
#include "aggregate_power/jobs/verdict.h"

namespace aggregate_power {
namespace {

PackageQuestion question_of(const MultinodeRequest& request) {
  PackageQuestion question;
  question.place = {disk_tree(), request.power_dir, request.logs_root};
  question.result_name = request.bench_result;
  try {
    question.result = disk_tree()->open(request.bench_result);
  } catch (const FileError& error) {
    question.result_fault = error.what();
  }
  question.gpus = request.gpus;
  question.expected_producer_sha = request.expected_producer_sha;
  question.salvage = request.salvage;
  question.extended = request.extended;
  question.expected_cpu_source = request.expected_cpu_source;
  question.with_power = request.failed_requests && request.failed_requests->count > 0;
  question.refusal = request.refusal;
  return question;
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

// What is an input stays as it is: a package that was patched is none any more.
void refuse_input_as_aggregate(const MultinodeRequest& request, PackageVerdict& verdict) {
  const std::string aggregate = disk_tree()->resolved(request.agg_result);
  std::vector<std::string> inputs = {request.bench_result};
  for (const std::string& path : verdict.results) {
    inputs.push_back(path_below(request.logs_root, path));
  }
  const bool is_input = aggregate.starts_with(disk_tree()->resolved(request.power_dir) + "/") ||
                        std::ranges::any_of(inputs, [&](const std::string& input) {
                          return is_same_file(input, request.agg_result);
                        });
  if (!is_input) return;
  verdict.reasons.add(Reason::aggregate_result_unwritable,
                      request.agg_result + ": is an input of this run");
  verdict.failures.push_back(request.agg_result + ": is an input of this run");
  verdict.metrics.clear();
}

}  // namespace

Delivered multinode(const MultinodeRequest& request) {
  PackageVerdict verdict;
  try {
    verdict = judge_package(question_of(request));
  } catch (const std::exception& error) {  // out of memory: the old claim must not stay
    verdict = PackageVerdict();
    verdict.reasons.add(Reason::package_recompute_invalid, error.what());
    verdict.failures.emplace_back(error.what());
  }
  refuse_input_as_aggregate(request, verdict);
  PackageRecord record;
  record.telemetry_source = request.power_dir;
  record.benchmark_result = request.bench_result;
  record.expected_producer_sha = request.expected_producer_sha;
  record.salvage = request.salvage;
  record.window_source = request.window_source;
  if (request.failed_requests && !verdict.is_refused) {
    record.failed_requests = failed_requests(*request.failed_requests, verdict);
  }

  FinishedRun run;
  run.reasons = verdict.reasons;
  Publication& publication = run.publication;
  publication.aggregate_path = request.agg_result;
  publication.sidecar_path = request.validation_result.empty()
                                 ? sidecar_beside(request.bench_result)
                                 : request.validation_result;
  publication.make_sidecar_folder =
      !request.validation_result.empty() && request.make_validation_folder;
  publication.valid = claims_power(verdict);
  publication.edits = package_edits(
      verdict, publication.sidecar_path.substr(publication.sidecar_path.rfind('/') + 1));
  publication.edits_without_audit = unaudited_package_edits(verdict);
  publication.leftovers = {extended_leftovers(), cpu_leftovers()};
  publication.sidecar = [&](const Reasons& aggregate_reasons, std::string_view) {
    return package_record_text(verdict, record, aggregate_reasons);
  };
  publication.inputs = {request.bench_result,
                        request.agg_result,
                        path_below(request.power_dir, "manifest.json"),
                        path_below(request.power_dir, "samples.csv"),
                        path_below(request.power_dir, "cpu/samples.csv"),
                        path_below(request.power_dir, "cpu/cpu_manifest.json")};
  publication.input_folder = request.power_dir;
  for (const std::string& path : verdict.results) {
    publication.inputs.push_back(path_below(request.logs_root, path));
  }
  if (request.failed_requests) publication.inputs.push_back(request.failed_requests->name);
  if (run.reasons.empty()) {
    run.success_line = success_line(verdict, request.agg_result);
    for (const auto& [name, count] : verdict.salvaged) {
      run.warnings.push_back(fmt::format("{}: salvaged: {} ({})", request.power_dir, name, count));
    }
    if (verdict.cpu && !verdict.cpu->reasons.empty()) {
      run.warnings.push_back(fmt::format("CPU power not valid: {}", verdict.cpu->reasons.text()));
    }
    if (const auto doubt = doubt_about(verdict.metrics.front().value)) {
      run.warnings.push_back(fmt::format("{}: {}", request.power_dir, *doubt));
    }
  }
  return deliver(run, {request.require_power, request.dry_run});
}

}  // namespace aggregate_power
