// What the telemetry and the benchmark result of a run come to.
#include "runs/assess.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "energy/integrate.h"
#include "energy/plausibility.h"
#include "results/dashboard_keys.h"

namespace aggregate_power {
namespace {

std::vector<JsonEdit> schema_1_edits(const Metrics& metrics) {
  std::vector<JsonEdit> edits;
  for (const Metric& metric : metrics) {
    edits.push_back({std::string(metric.key), json_number(rounded(metric.value, metric.decimals))});
  }
  return edits;
}

Metrics metrics_of(const Verdict& verdict, int schema_version) {
  const Load& load = *verdict.load;
  if (schema_version == 2) {
    const Integration& integration = verdict.measurement.integration;
    Metrics metrics =
        schema_2_metrics({*integration.avg_power_w, *integration.avg_total_gpu_power_w,
                          *integration.total_gpu_energy_j, load.completed, load.total_input_tokens,
                          load.total_output_tokens});
    std::ranges::copy(dashboard_metrics(verdict.measurement.fleet, integration.gpus.size()),
                      std::back_inserter(metrics));
    return metrics;
  }
  const MeanPower& mean = *verdict.measurement.mean_power;
  return schema_1_metrics(mean.avg_power_w, mean.gpus, load.reported_duration_s,
                          load.total_input_tokens, load.total_output_tokens);
}

// Schema 1 takes the mean of whatever lies in the window.
std::string partial_coverage(const MeanPower& mean, Window window) {
  if (mean.first_unix_s - window.start_unix_s <= kDefaultMaxSampleGapS &&
      window.end_unix_s - mean.last_unix_s <= kDefaultMaxSampleGapS) {
    return {};
  }
  return fmt::format(
      "partial_coverage: its samples in the window begin {:.3f} s after its start and end {:.3f} s "
      "before its end; the mean speaks for no more",
      mean.first_unix_s - window.start_unix_s, window.end_unix_s - mean.last_unix_s);
}

// What was odd about a recording that gave metrics.
std::vector<std::string> doubts(const Verdict& verdict, int schema_version) {
  std::vector<std::string> doubts;
  if (schema_version == 1 && !verdict.measurement.telemetry->series.device_column) {
    doubts.emplace_back("no_device_column: the rows of one stamp are taken for the GPUs");
  }
  if (auto doubt = doubt_about(verdict.metrics[0].value)) doubts.push_back(std::move(*doubt));
  if (schema_version == 1) {
    std::string gap = partial_coverage(*verdict.measurement.mean_power, verdict.load->window);
    if (!gap.empty()) doubts.push_back(std::move(gap));
  }
  return doubts;
}

}  // namespace

std::optional<std::string> doubt_about(double mean_w) {
  if (!is_doubtful(mean_w, mean_w)) return std::nullopt;
  return fmt::format(
      "implausible_watts: a mean of {:.6g} W per GPU; the header's unit may be wrong, or the "
      "sensor "
      "dead",
      mean_w);
}

Verdict judge(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading) {
  Verdict verdict;
  verdict.load = reading.load;
  verdict.reasons = reading.reasons;
  verdict.measurement = measure(request, recording, reading.load);
  verdict.reasons.add(verdict.measurement.integration.reasons);
  if (const auto& doubt = verdict.measurement.zone_doubt) verdict.warnings.push_back(*doubt);
  const auto warn = [&](const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      verdict.warnings.push_back(fmt::format("{}: {}", recording.path(), warning));
    }
  };
  if (verdict.measurement.telemetry) warn(verdict.measurement.telemetry->series.warnings);
  if (!verdict.reasons.empty()) return verdict;
  verdict.metrics = metrics_of(verdict, request.schema_version);
  warn(doubts(verdict, request.schema_version));
  for (const Metric& metric : verdict.metrics) {
    if (std::isfinite(metric.value)) continue;
    verdict.reasons.add(Reason::aggregate_result_unwritable,
                        fmt::format("'{}' is too large for a number", metric.key));
  }
  return verdict;
}

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

std::vector<JsonEdit> dashboard_verdict_edits(const Verdict& verdict, const std::string& source) {
  std::vector<JsonEdit> edits = verdict_edits(verdict, 2);
  if (edits.empty()) return edits;
  const Integration& integration = verdict.measurement.integration;
  DashboardContent content;
  content.reasons = verdict.reasons;
  PowerAudit& audit = content.audit;
  if (verdict.load) audit.window = verdict.load->window;
  audit.expected_gpu_count = integration.expected_num_gpus;
  audit.observed_gpu_count = integration.gpu_ids.size();
  audit.sample_count = verdict.measurement.fleet.samples_in_window;
  for (const DeviceEnergy& gpu : integration.gpus) {
    if (!gpu.bracketed) continue;
    audit.max_sample_gap_s = std::max(audit.max_sample_gap_s.value_or(0), gpu.max_sample_gap_s);
  }
  audit.observed_gpu_ids = integration.gpu_ids;
  audit.source = source;
  add_dashboard_keys(edits, content);
  return edits;
}

std::vector<JsonEdit> verdict_edits(const Verdict& verdict, int schema_version) {
  const bool valid = verdict.reasons.empty();
  if (schema_version == 1) return valid ? schema_1_edits(verdict.metrics) : std::vector<JsonEdit>();
  if (verdict.reasons.contains(Reason::aggregate_result_unwritable)) return {};
  return schema_2_edits(valid, verdict.metrics);
}

std::vector<JsonEdit> unaudited_edits(int schema_version) {
  return schema_version == 1 ? std::vector<JsonEdit>() : schema_2_edits(false, {});
}

std::string schema_2_line(const Verdict& verdict, const std::string& aggregate) {
  return fmt::format(
      "avg_power_w={:.2f} avg_total_gpu_power_w={:.2f} total_gpu_energy_j={:.2f} (n={}) -> {}",
      verdict.metrics[0].value, verdict.metrics[1].value, verdict.metrics[2].value,
      verdict.measurement.integration.gpu_ids.size(), aggregate);
}

bool is_our_key(std::string_view key) {
  static const std::vector<JsonEdit> all = schema_2_edits(false, {});
  return std::ranges::find(all, key, &JsonEdit::key) != all.end() ||
         std::ranges::find(dashboard_keys(), key) != dashboard_keys().end();
}

RecordContent record_content(const Verdict& verdict, int schema_version) {
  RecordContent content;
  content.reasons = verdict.reasons;
  content.load = verdict.load;
  content.integration_method = schema_version == 2 ? kTrapezoidMethod : kSampleMeanMethod;
  content.integration = verdict.measurement.integration;
  content.counter_check = verdict.measurement.counter_check;
  content.metrics = verdict.metrics;
  if (verdict.measurement.fleet.power) content.power_percentile_method = kPercentileMethod;
  content.telemetry = verdict.measurement.telemetry;
  return content;
}

}  // namespace aggregate_power
