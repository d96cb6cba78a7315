// Finds the number of GPUs and the zone of a run, and adds the results of its recordings.
#include "runs/evaluate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/json.h"
#include "energy/metrics.h"
#include "results/aggregate_json.h"
#include "results/deliver.h"
#include "runs/extras.h"

namespace aggregate_power {
namespace {

// Nothing, if the aggregate cannot be read.
template <typename Read>
auto said_by(const std::string& aggregate, Read read) -> decltype(read(aggregate)) {
  try {
    return read(read_file(aggregate));
  } catch (const FileError&) {
  } catch (const JsonError&) {
  }
  return {};
}

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

ZonedResult evaluate_one(MeasurementRequest request, Recording& recording,
                         const LoadReading& reading, const FilesBeside& files) {
  const auto window = reading.load ? std::optional(reading.load->window) : std::nullopt;
  if (const StorePair* const pair = files.pair) {
    return assess_zoned(request, window, recording, pair->assess, pair->witnesses);
  }
  std::string source;
  if (request.finds_gpus && request.schema_version == 2) {
    source = find_gpus(request, reading, files);
    if (source.empty()) return {unmeasured(request, reading.load, no_count(reading, files))};
  }
  ZonedResult zoned;
  if (request.finds_zone) {
    const OtherWitnesses witnesses = witnesses_of(recording, files);
    zoned = assess_zoned(
        request, window, recording,
        [&](const MeasurementRequest& now) { return assess(now, recording, reading); }, &witnesses);
    if (!zoned.has_zone) zoned = {without_zone(request, reading, std::move(zoned.result))};
    if (zoned.zone_report)
      zoned.result.zone_evidence = ZoneEvidenceRecord{*zoned.zone_report, {}, {}};
  } else {
    zoned.result = assess(request, recording, reading);
  }
  zoned.result.expected_gpus_source = std::move(source);
  return zoned;
}

// ---- Several recordings

// The number of expected GPUs is not checked. `shared` are the sensors that both have.
void add_recording(Result& sum, Result other, const SharedSensors& shared) {
  const auto energy = [](const Result& result) {
    return value_of(result.metrics, "total_gpu_energy_j").value_or(0);
  };
  sum.reasons.add(other.reasons);
  sum.reasons.add(shared.reasons);
  for (const std::string& id : other.observed_gpu_ids) {
    const bool is_known = std::ranges::find(sum.observed_gpu_ids, id) != sum.observed_gpu_ids.end();
    // A host's name and a number are as good as a UUID; a number alone may be that of another node.
    const bool is_unique = id.starts_with("GPU-") || id.find('/') != std::string::npos;
    if (is_known && is_unique) sum.reasons.add(Reason::gpu_uuid_repeated, id);
  }
  sum.observed_gpus += other.observed_gpus;
  const std::size_t gpus = sum.metric_gpus + other.metric_gpus;
  for (std::string& id : other.observed_gpu_ids) sum.observed_gpu_ids.push_back(std::move(id));
  std::ranges::move(other.warnings, std::back_inserter(sum.warnings));
  std::ranges::copy(shared.warnings, std::back_inserter(sum.warnings));
  accept_reasons(sum);
  std::ranges::move(other.hints, std::back_inserter(sum.hints));
  sum.telemetry_source += ", " + other.telemetry_source;
  const double total_j = energy(sum) + energy(other);
  sum.metric_gpus = gpus;
  sum.metrics =
      sum.is_valid()
          ? energy_metrics(
                {.energy_j = total_j, .gpus = gpus, .load = *sum.load, .contract = sum.contract})
          : Metrics();
  sum.reasons.add(zero_metrics(sum.metrics));
}

// The expected number of GPUs is that of all recordings together.
void check_count(const RunOptions& run, const LoadReading& load, Result& result) {
  const auto expected = run.finds_gpus ? load.gpus : run.expected_num_gpus;
  const auto observed = static_cast<std::int64_t>(result.observed_gpus);
  if (!expected || *expected == observed) return;
  result.reasons.add(Reason::expected_gpu_count_mismatch,
                     fmt::format("{} observed, {} expected", observed, *expected));
  result.metrics.clear();
}

// GPUs of several recordings may have the same names.
void name_recordings(const std::vector<std::string>& paths,
                     std::vector<SensorReadings>& recordings) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::map<std::string, std::string> names;
    for (const auto& [gpu, joules] : recordings[i].published_j) {
      names[gpu] = printable_path(paths[i]) + "/" + gpu;
    }
    rename_gpus(names, recordings[i]);
  }
}

}  // namespace

std::optional<std::int64_t> gpus_in_aggregate(const std::string& aggregate) {
  return said_by(aggregate, [](std::string_view text) { return gpus_of(text); });
}

std::string hardware_in(const std::string& aggregate) { return said_by(aggregate, hardware_of); }

RunRecordings::RunRecordings(std::vector<std::string> all, const RunOptions& run)
    : paths(std::move(all)) {
  open.emplace_back(paths.front(), run.zone, run.columns, run.gpus);
}

RunRecordings::RunRecordings(Recording only) : paths{only.path()} {
  open.push_back(std::move(only));
}

ZonedResult evaluate(const MeasurementRequest& request, RunRecordings& recordings,
                     const PlacedLoad& placed, const FilesBeside& files) {
  const std::vector<std::string>& paths = recordings.paths;
  const bool is_only = paths.size() == 1;
  MeasurementRequest wanted = request;
  if (!is_only) {
    wanted.expected_num_gpus.reset();
    wanted.finds_gpus = false;
  }
  std::vector<SensorReadings> readings(paths.size());
  std::vector<KeptSeries> seen;
  ZonedResult zoned;
  Result& result = zoned.result;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i > 0) recordings.open.emplace_back(paths[i], request.zone, request.columns, request.gpus);
    Recording& recording = recordings.open.back();
    wanted.readings = &readings[i];
    SeriesSink series;
    if (!is_only) wanted.series = &series;
    if (recordings.before) recordings.before(i, recording, wanted);
    if (i > 0) refuse_copy(recordings.open.front(), recording);
    ZonedResult one = evaluate_one(wanted, recording, placed.reading, files);
    one.result.telemetry_source = paths[i];
    if (recordings.after) recordings.after(i, recording, one.result);
    if (i == 0) {
      zoned = std::move(one);
    } else {
      add_recording(result, std::move(one.result), shared_sensors(seen, series.kept));
    }
    std::ranges::move(series.kept, std::back_inserter(seen));
  }
  if (files.pair && !(files.pair->hardware && zoned.has_zone)) return zoned;
  if (!is_only) check_count(request, placed.reading, result);
  if (!is_only && result.is_valid()) name_recordings(paths, readings);
  if (placed.placement) result.window_half_width_s = placed.placement->half_width_s;
  std::string hardware;
  if (request.uncertainty.is_wanted) {
    hardware = files.pair ? *files.pair->hardware : hardware_in(files.aggregate);
  }
  add_extras({request, std::move(readings), hardware, is_only ? &recordings.open.front() : nullptr,
              request.may_use_threads},
             result);
  return zoned;
}

void refuse_copy(const Recording& first, const Recording& other) {
  const bool is_copy = other.faults().empty() && first.faults().empty() &&
                       other.bytes() == first.bytes() &&
                       other.content_hash() == first.content_hash();
  if (!is_copy) return;
  throw Error(fmt::format("{} is a copy of {}: give it once", printable_path(other.path()),
                          printable_path(first.path())));
}

}  // namespace aggregate_power
