// One run on one node, end to end.
#include "aggregate_power/jobs/aggregate.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "aggregate_power/analysis/metrics.h"
#include "aggregate_power/analysis/survey.h"
#include "aggregate_power/base/archive.h"
#include "aggregate_power/base/file.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/jobs/measurement.h"
#include "aggregate_power/jobs/publish.h"
#include "aggregate_power/jobs/recording.h"
#include "aggregate_power/jobs/sidecar.h"

namespace aggregate_power {
namespace {

std::vector<JsonEdit> schema_1_edits(const Metrics& metrics) {
  std::vector<JsonEdit> edits;
  for (const Metric& metric : metrics) {
    edits.push_back({std::string(metric.key), json_number(rounded(metric.value, metric.decimals))});
  }
  return edits;
}

// The verdict, and the metrics or nothing in their place; contract.md B.6.
std::vector<JsonEdit> schema_2_edits(bool valid, const Metrics& metrics) {
  std::vector<JsonEdit> edits = {{"power_metric_schema_version", "2"},
                                 {"power_valid", valid ? "1" : "0"},
                                 {"power_invalid_reasons", ""}};
  if (valid) {
    const std::vector<JsonEdit> numbers = schema_1_edits(metrics);
    edits.insert(edits.end(), numbers.begin(), numbers.end());
  }
  for (const std::string_view key : all_metric_keys()) {
    if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) {
      edits.push_back({std::string(key), ""});
    }
  }
  return edits;
}

class Run {
 public:
  explicit Run(const AggregateRequest& request) : request_(request) {}

  AggregateReport run() {
    read_inputs();
    make_metrics();
    const bool done = request_.dry_run ? show_changes() : write();
    report_.exit_status = done || !request_.require_power ? 0 : 1;
    return std::move(report_);
  }

 private:
  bool schema_2() const { return request_.schema_version == 2; }

  std::string sidecar_path() const {
    if (!request_.validation_result.empty()) return request_.validation_result;
    if (!schema_2()) return {};
    return beside(request_.bench_result,
                  fmt::format("power_validation_{}.json", plain_stem(request_.bench_result)));
  }

  void read_inputs() {
    try {
      const auto source = decompressed(open_source(request_.bench_result), request_.bench_result);
      BenchmarkReading reading =
          read_benchmark(*source, request_.bench_result,
                         schema_2() ? BenchmarkRules::schema_2 : BenchmarkRules::schema_1);
      benchmark_ = reading.benchmark;
      reasons_ = std::move(reading.reasons);
    } catch (const FileError& error) {
      reasons_.add(Reason::invalid_benchmark_result, error.what());
    }
    const std::string csv = request_.csv.empty() ? find_telemetry() : request_.csv;
    try {
      const Recording recording(csv, request_.zone, request_.columns);
      measurement_ = measure({request_.schema_version, request_.expected_num_gpus,
                              request_.max_sample_gap_s, !sidecar_path().empty()},
                             recording, benchmark_);
      for (const std::string& warning : recording.warnings()) report_.err.push_back(warning);
    } catch (const FileError& error) {
      measurement_.integration.reasons.add(Reason::telemetry_file_unreadable, error.what());
    }
    telemetry_path_ = csv;
    reasons_.add(measurement_.integration.reasons);
    if (measurement_.telemetry) {
      for (const std::string& warning : measurement_.telemetry->columns.warnings) {
        report_.err.push_back(fmt::format("{}: {}", csv, warning));
      }
      if (!schema_2() && reasons_.empty() && !measurement_.telemetry->columns.device) {
        report_.err.push_back(
            fmt::format("{}: no_device_column: the rows of one stamp are taken for the GPUs", csv));
      }
    }
  }

  void make_metrics() {
    if (!reasons_.empty()) return;
    const Integration& integration = measurement_.integration;
    if (schema_2()) {
      metrics_ =
          schema_2_metrics({*integration.avg_power_w, *integration.avg_total_gpu_power_w,
                            *integration.total_gpu_energy_j, benchmark_->completed,
                            benchmark_->total_input_tokens, benchmark_->total_output_tokens});
    } else {
      metrics_ = schema_1_metrics(measurement_.mean_power->avg_power_w,
                                  measurement_.mean_power->gpus, benchmark_->reported_duration_s,
                                  benchmark_->total_input_tokens, benchmark_->total_output_tokens);
    }
    if (const double mean_w = metrics_[0].value; is_implausible(mean_w, mean_w)) {
      report_.err.push_back(
          fmt::format("{}: implausible_watts: a mean of {:.6g} W per GPU; the header's unit may be "
                      "wrong, or the sensor dead",
                      telemetry_path_, mean_w));
    }
    if (!schema_2()) warn_of_partial_coverage();
    for (const Metric& metric : metrics_) {
      if (std::isfinite(metric.value)) continue;
      reasons_.add(Reason::aggregate_result_unwritable,
                   fmt::format("'{}' is too large for a number", metric.key));
    }
  }

  // Schema 1 takes the mean of whatever lies in the window.
  void warn_of_partial_coverage() {
    const Window window = benchmark_->window;
    const MeanPower& mean = *measurement_.mean_power;
    if (mean.first_unix_s - window.start_unix_s <= kDefaultMaxSampleGapS &&
        window.end_unix_s - mean.last_unix_s <= kDefaultMaxSampleGapS) {
      return;
    }
    report_.err.push_back(fmt::format(
        "{}: partial_coverage: its samples in the window begin {:.3f} s after its start and end "
        "{:.3f} s before its end; the mean speaks for no more",
        telemetry_path_, mean.first_unix_s - window.start_unix_s,
        window.end_unix_s - mean.last_unix_s));
  }

  Publication publication() const {
    Publication publication;
    publication.aggregate_path = request_.agg_result;
    publication.sidecar_path = sidecar_path();
    publication.make_sidecar_folder = !request_.validation_result.empty();
    publication.valid = reasons_.empty();
    if (schema_2()) {
      publication.edits = schema_2_edits(publication.valid, metrics_);
      publication.edits_without_audit = schema_2_edits(false, {});
      if (reasons_.contains(Reason::aggregate_result_unwritable)) publication.edits.clear();
    } else if (publication.valid) {
      publication.edits = schema_1_edits(metrics_);
    }
    publication.sidecar = [this](const Reasons& aggregate_reasons, std::string_view) {
      return sidecar(aggregate_reasons);
    };
    publication.inputs = {telemetry_path_, request_.bench_result, request_.agg_result};
    for (const char* end : {"_energy_start.csv", "_energy_end.csv", "_context.json"}) {
      publication.inputs.push_back(beside(telemetry_path_, plain_stem(telemetry_path_) + end));
    }
    return publication;
  }

  std::string sidecar(const Reasons& aggregate_reasons) const {
    SidecarContent content;
    content.reasons = reasons_;
    content.reasons.add(aggregate_reasons);
    content.telemetry_source = telemetry_path_;
    content.benchmark_result = request_.bench_result;
    content.benchmark = benchmark_;
    content.integration_method = schema_2() ? kTrapezoidMethod : kSampleMeanMethod;
    content.integration = measurement_.integration;
    content.accumulator_check = measurement_.accumulator_check;
    content.metrics = metrics_;
    content.telemetry = measurement_.telemetry;
    return sidecar_text(content);
  }

  // True when the aggregate holds valid numbers now.
  bool write() {
    const Published published = publish(publication());
    reasons_.add(published.reasons);
    for (const std::string& warning : published.warnings) report_.err.push_back(warning);
    if (!published.sidecar_fault.empty()) {
      reasons_.add(Reason::validation_result_unwritable, published.sidecar_fault);
    }
    return tell();
  }

  bool show_changes() {
    const Preview changes = preview(publication());
    reasons_.add(changes.reasons);
    if (!changes.sidecar_fault.empty()) {
      reasons_.add(Reason::validation_result_unwritable, changes.sidecar_fault);
    }
    report_.out = changes.lines;
    const bool valid = tell();
    report_.out.push_back("dry run: nothing was written");
    return valid;
  }

  bool tell() {
    if (reasons_.empty()) {
      report_.out.push_back(schema_2() ? schema_2_line() : schema_1_line());
      return true;
    }
    std::string line = fmt::format("power not valid: {}", reasons_.text());
    const bool has_sidecar = !sidecar_path().empty() && !request_.dry_run &&
                             !reasons_.contains(Reason::validation_result_unwritable);
    if (has_sidecar) line += "; see " + sidecar_path();
    report_.err.push_back(line);
    const auto remedies = [&](const Reasons& reasons) {
      for (const Reasons::Entry& entry : reasons.entries()) {
        report_.err.push_back(fmt::format("  {}: {}", code(entry.reason), remedy(entry.reason)));
      }
    };
    remedies(reasons_);
    remedies(measurement_.column_faults);
    if (measurement_.zone_hint) report_.err.push_back("  " + *measurement_.zone_hint);
    return false;
  }

  std::string schema_2_line() const {
    return fmt::format(
        "avg_power_w={:.2f} avg_total_gpu_power_w={:.2f} total_gpu_energy_j={:.2f} (n={}) -> {}",
        metrics_[0].value, metrics_[1].value, metrics_[2].value,
        measurement_.integration.gpu_ids.size(), request_.agg_result);
  }

  std::string schema_1_line() const {
    return fmt::format(
        "avg_power_w={:.2f} (per GPU, n={}) joules_per_output_token={:.4f} "
        "joules_per_total_token={:.4f} duration={:.1f}s output_tokens={} input_tokens={} -> {}",
        metrics_[0].value, measurement_.mean_power->gpus, metrics_[1].value, metrics_[2].value,
        benchmark_->reported_duration_s, benchmark_->total_output_tokens,
        benchmark_->total_input_tokens, request_.agg_result);
  }

  const AggregateRequest& request_;
  std::optional<Benchmark> benchmark_;
  std::string telemetry_path_;
  Measurement measurement_;
  Reasons reasons_;
  Metrics metrics_;
  AggregateReport report_;
};

}  // namespace

std::string find_telemetry() {
  const char* const named = std::getenv("GPU_METRICS_CSV");
  if (named != nullptr && *named != '\0') return normal_path(named);
  struct stat status {};
  for (const char* path : {"gpu_metrics.csv", "/workspace/gpu_metrics.csv"}) {
    if (::stat(path, &status) == 0) return path;
  }
  return "gpu_metrics.csv";
}

AggregateReport aggregate(const AggregateRequest& request) { return Run(request).run(); }

}  // namespace aggregate_power
