// Measures a recording and computes the result.
#include "runs/measure/evaluate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "energy/shares/facility.h"
#include "core/energy/metrics.h"
#include "core/energy/plausibility.h"
#include "core/telemetry/gpu_names.h"
#include "runs/measure/deliver.h"
#include "core/record/limits_json.h"
#include "runs/evaluate/counters.h"
#include "runs/measure/extras.h"
#include "runs/measure/sensor_readings.h"

namespace aggregate_power {
namespace {

Metrics metrics_of(const Measurement& measurement, const Result& result) {
  const Load& load = *result.load;
  if (result.way == Way::sample_mean) {
    return sample_mean_metrics(measurement.mean_power->avg_power_w, measurement.mean_power->gpus,
                               load);
  }
  const Integration& integration = measurement.integration;
  return energy_metrics({.energy_j = *integration.total_gpu_energy_j,
                         .gpus = integration.gpus.size(),
                         .load = load,
                         .fleet = measurement.fleet,
                         .contract = result.contract});
}

// Schema 1 takes the mean of whatever samples are in the window.
std::string partial_coverage(const MeanPower& mean, Window window) {
  if (mean.first_unix_s - window.start_unix_s <= kDefaultMaxSampleGapS &&
      window.end_unix_s - mean.last_unix_s <= kDefaultMaxSampleGapS) {
    return {};
  }
  return fmt::format(
      "partial_coverage: the samples in the window begin {:.3f} s after its start and end {:.3f} s before its end; the mean covers only that part",
      mean.first_unix_s - window.start_unix_s, window.end_unix_s - mean.last_unix_s);
}

// A column that names hosts or jobs may stand for several GPUs, and a mean of them for one.
std::optional<std::string> doubt_about_devices(const SeriesFacts& series) {
  if (!series.device_column || !is_place_name(*series.device_column)) return std::nullopt;
  return fmt::format(
      "host_as_gpu: '{}' names no GPUs: what it names counts as one each; if one has several, their sum must be in each row, and not their mean",
      printable(*series.device_column));
}

// Oddities of a recording that gave metrics.
std::vector<std::string> doubts(const Result& result, const Measurement& measurement) {
  std::vector<std::string> doubts;
  const bool is_mean = result.way == Way::sample_mean;
  if (is_mean && !result.telemetry->series.has_devices()) {
    doubts.emplace_back(
        "no_device_column: rows with the same timestamp are taken as one for each GPU");
  } else if (!result.telemetry->series.has_devices()) {
    doubts.emplace_back("no_device_column: all rows are taken as those of one GPU");
  }
  if (auto doubt = doubt_about_devices(result.telemetry->series)) {
    doubts.push_back(std::move(*doubt));
  }
  for (const auto& [cause, rows] : result.telemetry->skipped) {
    if (is_mean || cause != "bad_timestamp" || rows == 0) continue;
    doubts.push_back(fmt::format(
        "bad_timestamp: rows whose time cannot be read: {}; all are away from the window", rows));
  }
  if (auto silent = silent_series_text(result.telemetry->silent_series)) {
    doubts.push_back(std::move(*silent));
  }
  const SeriesFacts& series = result.telemetry->series;
  const double usual_w = plausible_watts(series).usual_w;
  if (auto doubt = doubt_about(*value_of(result.metrics, "avg_power_w"), usual_w)) {
    doubts.push_back(std::move(*doubt));
  }
  std::ranges::move(
      odd_samples_text(measurement.integration.gpu_ids, measurement.integration.gpus, usual_w),
      std::back_inserter(doubts));
  if (is_mean) {
    std::string gap = partial_coverage(*measurement.mean_power, result.load->window);
    if (!gap.empty()) doubts.push_back(std::move(gap));
  }
  return doubts;
}

// Whether a GPU was not sampled for much longer than from sample to sample.
bool has_hole(const GpuResult& gpu) {
  constexpr double kMuchLonger = 3;
  const double length_s = gpu.energy.last_unix_s - gpu.energy.first_unix_s;
  const double intervals = std::max(1.0, static_cast<double>(gpu.energy.samples) - 1);
  return gpu.energy.max_sample_gap_s > kMuchLonger * length_s / intervals;
}

// Longer gaps than usual were allowed, and the power in them is not known.
std::optional<std::string> gap_doubt(const Result& result, std::span<const GpuResult> gpus) {
  constexpr double kLittle = 0.02;  // of the energy
  if (std::ranges::none_of(gpus, has_hole)) return std::nullopt;
  const double energy_j = value_of(result.metrics, "total_gpu_energy_j").value_or(0);
  if (!result.gap_bound || result.gap_bound->total_j <= kLittle * energy_j) return std::nullopt;
  return fmt::format(
      "long_gaps: between the samples of gaps longer than {:g} s the power is not known: the energy may be off by up to {:.6g} J ({:.0f} %)",
      kDefaultMaxSampleGapS, result.gap_bound->total_j, 100 * result.gap_bound->total_j / energy_j);
}

std::vector<GpuResult> gpu_results_of(const Integration& integration) {
  std::vector<GpuResult> gpus;
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    gpus.push_back({integration.gpu_ids[i], integration.gpus[i], integration.issues[i]});
  }
  return gpus;
}

}  // namespace

Result unmeasured(const MeasurementRequest& request, const std::optional<Load>& load,
                  const Reasons& reasons) {
  Result result;
  result.way = request.schema_version == 1 ? Way::sample_mean : Way::one_node;
  result.load = load;
  result.reasons = reasons;
  result.accepts = request.accepted;
  result.expected_gpus = request.expected_num_gpus;
  result.selected_gpus = request.gpus.names;
  result.contract = request.contract;
  result.keys = request.keys;
  if (has_percentiles(request.keys)) result.fleet.emplace();
  refuse_extras(request, result);
  return result;
}

Result assess(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading) {
  Result result = unmeasured(request, reading.load, reading.reasons);
  Measurement measurement = measure(request, recording, reading.load);
  const Integration& integration = measurement.integration;
  if (reading.load) {
    result.recorded_counters =
        compare_with_counters(request, recording, reading.load->window, measurement);
  }
  result.reasons.add(integration.reasons);
  accept_reasons(result);
  result.expected_gpus = integration.expected_num_gpus;
  result.observed_gpu_ids = integration.gpu_ids;
  result.observed_gpus = integration.gpu_ids.size();
  result.gpus = gpu_results_of(integration);
  result.boundary_degenerate_rows = integration.boundary_degenerate_rows;
  result.telemetry = std::move(measurement.telemetry);
  result.limits = std::move(measurement.limits);
  result.counters = std::move(measurement.counter_check);
  result.causes = std::move(measurement.column_faults);
  result.could_not_read = measurement.could_not_read;
  result.fits_window = measurement.mean_power.has_value() ||
                       std::ranges::any_of(integration.gpus, &DeviceEnergy::bracketed);
  if (measurement.zone_hint && !reading.is_on_recorders_clock)
    result.hints.push_back(*measurement.zone_hint + kOrAnotherRun);
  if (measurement.zone_doubt) result.warnings.push_back(std::move(*measurement.zone_doubt));
  const auto warn = [&](const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      result.warnings.push_back(fmt::format("{}: {}", recording.path(), warning));
    }
  };
  if (result.telemetry) warn(result.telemetry->series.warnings);
  if (result.is_valid() && result.load) {
    result.metrics = metrics_of(measurement, result);
    result.metric_gpus =
        measurement.mean_power ? measurement.mean_power->gpus : integration.gpus.size();
    result.gap_bound = std::move(measurement.gap_bound);
    warn(doubts(result, measurement));
    if (auto text = gap_doubt(result, gpu_results_of(integration))) warn({std::move(*text)});
    if (measurement.edge_doubt) warn({std::move(*measurement.edge_doubt)});
    warn(results::limit_warnings(result.limits));
    for (const Reasons::Entry& entry : measurement.series_doubts.entries()) {
      warn({fmt::format("{}: {}", code(entry.reason), entry.detail)});
    }
    for (const std::string_view key : not_finite(result.metrics)) {
      result.reasons.add(Reason::aggregate_result_unwritable,
                         fmt::format("'{}' is too large for a number", key));
    }
    if (result.is_valid()) result.reasons.add(zero_metrics(result.metrics));
  }
  if (has_percentiles(request.keys)) result.fleet = std::move(measurement.fleet);
  const bool is_refuted = result.reasons.contains(Reason::counter_contradicts) ||
                          result.accepted.contains(Reason::counter_contradicts);
  if (result.recorded_counters && !is_refuted) warn(doubts_about(*result.recorded_counters));
  if (request.readings != nullptr) {
    *request.readings = {};
    if (result.telemetry && result.load) {
      *request.readings =
          wanted_readings(request, recording, result.load->window, std::move(measurement.gathered),
                          integration, result.telemetry->series);
    }
  }
  return result;
}

}  // namespace aggregate_power
