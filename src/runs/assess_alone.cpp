// Finds the number of GPUs and the zone of a run, and assesses it.
#include "runs/assess_alone.h"

#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/tree.h"
#include "base/text/json.h"
#include "results/aggregate_json.h"
#include "runs/assess.h"
#include "runs/assess_by_evidence.h"
#include "runs/idle.h"
#include "runs/sensor_readings.h"
#include "runs/uncertainty.h"

namespace aggregate_power {
namespace {

// Returns the input that names the GPUs; empty: none does.
std::string find_gpus(MeasurementRequest& request, const LoadReading& reading,
                      const FilesBeside& files) {
  request.expected_num_gpus = gpus_in_aggregate(files.aggregate);
  if (request.expected_num_gpus) return "aggregate_result";
  request.expected_num_gpus = reading.gpus;
  return reading.gpus ? "benchmark_result" : "";
}

Reasons no_count(const LoadReading& reading, const FilesBeside& files) {
  Reasons reasons = reading.reasons;
  reasons.add(Reason::invalid_expected_gpu_count,
              files.aggregate.empty()
                  ? fmt::format("{} does not say how many GPUs the run used", files.load)
                  : fmt::format("neither {} nor {} says how many GPUs the run used",
                                files.aggregate, files.load));
  return reasons;
}

OtherWitnesses witnesses_of(const Recording& recording, const FilesBeside& files) {
  const auto tree = disk_tree();
  OtherWitnesses witnesses;
  const auto written_ns =
      own_time_ns(tree->written_ns(recording.path()), tree->written_ns(files.load));
  if (written_ns) witnesses.file_unix_s = static_cast<double>(*written_ns) / 1e9;
  return witnesses;
}

// A result that claims nothing that depends on the zone.
Result without_zone(const MeasurementRequest& request, const LoadReading& reading, Result result) {
  Reasons reasons = reading.reasons;
  reasons.add(result.reasons);
  Result refused = unmeasured(request, reading.load, reasons);
  refused.telemetry = std::move(result.telemetry);
  if (refused.telemetry) {
    refused.telemetry->timezone.clear();
    refused.telemetry->timezone_source.clear();
    refused.telemetry->utc_offset.clear();
  }
  refused.warnings = std::move(result.warnings);
  return refused;
}

Result assess_in_found_zone(const MeasurementRequest& request, Recording& recording,
                            const LoadReading& reading, const FilesBeside& files) {
  const auto window = reading.load ? std::optional(reading.load->window) : std::nullopt;
  const OtherWitnesses witnesses = witnesses_of(recording, files);
  ZonedResult zoned = assess_zoned(
      request, window, recording,
      [&](const MeasurementRequest& now) { return assess(now, recording, reading); }, &witnesses);
  if (!zoned.has_zone) return without_zone(request, reading, std::move(zoned.result));
  if (zoned.report) zoned.result.zone_evidence = ZoneEvidenceRecord{*zoned.report, {}, {}};
  return std::move(zoned.result);
}

}  // namespace

std::optional<std::int64_t> gpus_in_aggregate(const std::string& aggregate) {
  try {
    return gpus_of(read_file(aggregate));
  } catch (const FileError&) {
    return std::nullopt;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

std::string hardware_in(const std::string& aggregate) {
  try {
    return hardware_of(read_file(aggregate));
  } catch (const FileError&) {
    return {};
  } catch (const JsonError&) {
    return {};
  }
}

Result assess_alone(MeasurementRequest request, Recording& recording, const LoadReading& reading,
                    const FilesBeside& files) {
  std::string source;
  if (request.finds_gpus && request.schema_version == 2) {
    source = find_gpus(request, reading, files);
    if (source.empty()) return unmeasured(request, reading.load, no_count(reading, files));
  }
  SensorReadings readings;
  const bool is_complete = request.readings == nullptr;
  if (is_complete) request.readings = &readings;
  Result result = request.finds_zone ? assess_in_found_zone(request, recording, reading, files)
                                     : assess(request, recording, reading);
  result.expected_gpus_source = std::move(source);
  if (is_complete) {
    add_idle(request, &recording, {&readings, 1}, result);
    std::vector<SensorReadings> recordings;
    if (request.place_half_width_s > 0) result.window_half_width_s = request.place_half_width_s;
    recordings.push_back(std::move(readings));
    add_uncertainty(request.uncertainty, std::move(recordings), hardware_in(files.aggregate),
                    result, request.may_use_threads);
  }
  return result;
}

}  // namespace aggregate_power
