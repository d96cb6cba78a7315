// Finds the number of GPUs and the zone of a run, and adds the results of its recordings.
#include "runs/measure/evaluate.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/json.h"
#include "core/energy/metrics.h"
#include "core/model/code_descriptions.h"
#include "core/record/aggregate.h"
#include "core/record/salvage_json.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/aggregate_doubts.h"
#include "runs/measure/deliver.h"
#include "runs/measure/extras.h"
#include "runs/window/results_beside.h"

namespace aggregate_power {
namespace {

// Nothing, if the aggregate cannot be read.
template <typename Read>
auto said_by(const std::string& aggregate, Read read) -> decltype(read(aggregate)) {
  if (!is_regular_file(aggregate)) return {};  // often there is none, and throwing takes long
  try {
    return read(read_file(aggregate, kAggregateFile));
  } catch (const FileError&) {
  } catch (const JsonError&) {
  }
  return {};
}

// Returns the input that names the GPUs; empty: none does, or `fault` says why its number cannot be
// read.
std::string find_gpus(MeasurementRequest& request, const LoadReading& reading,
                      const FilesBeside& files, std::string& fault) {
  const StatedGpus stated = said_by(files.aggregate, gpus_stated_in);
  fault = stated.fault.empty() ? reading.gpus_fault : stated.fault;
  if (!fault.empty()) return {};
  request.expected_num_gpus = stated.count;
  if (request.expected_num_gpus) return "aggregate_result";
  request.expected_num_gpus = reading.gpus;
  return reading.gpus ? "benchmark_result" : "";
}

Reasons no_count(const LoadReading& reading, const FilesBeside& files, const std::string& fault) {
  Reasons reasons = reading.reasons;
  if (!fault.empty()) {
    reasons.add(Reason::invalid_expected_gpu_count, fault);
    return reasons;
  }
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
    return assess_zoned(request, reading, recording, pair->assess, pair->witnesses);
  }
  std::string source;
  if (request.finds_gpus && request.schema_version == 2) {
    std::string fault;
    source = find_gpus(request, reading, files, fault);
    if (source.empty()) return {unmeasured(request, reading.load, no_count(reading, files, fault))};
  }
  ZonedResult zoned;
  if (request.finds_zone) {
    const OtherWitnesses witnesses = witnesses_of(recording, files);
    zoned = assess_zoned(
        request, reading, recording,
        [&](const MeasurementRequest& now) { return assess(now, recording, reading); }, &witnesses);
    if (!zoned.has_zone) zoned = {without_zone(request, reading, std::move(zoned.result))};
    if (zoned.zone_report)
      zoned.result.zone_evidence = ZoneEvidenceRecord{*zoned.zone_report, {}, {}};
  } else if (window && !reading.is_on_recorders_clock) {
    zoned = assess_in_own_zone(
        request, *window, recording,
        [&](const MeasurementRequest& now) { return assess(now, recording, reading); },
        witnesses_of(recording, files));
    if (!zoned.has_zone) zoned = {without_zone(request, reading, std::move(zoned.result))};
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
  sum.accepted.add(other.accepted);
  sum.reasons.add(shared.reasons);
  sum.observed_gpus += other.observed_gpus;
  const std::size_t gpus = sum.metric_gpus + other.metric_gpus;
  for (std::string& id : other.observed_gpu_ids) sum.observed_gpu_ids.push_back(std::move(id));
  if (sum.telemetry && other.telemetry) {
    append(sum.telemetry->gpus, std::move(other.telemetry->gpus));
  }
  append(sum.warnings, std::move(other.warnings));
  append(sum.warnings, shared.warnings);
  accept_reasons(sum);
  append(sum.limits, std::move(other.limits));
  append(sum.hints, std::move(other.hints));
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

// ---- Who was measured

// The GPUs that count, with all that the recording says about who they are.
GpusOfFile gpus_of_file(const Recording& recording, const Result& result,
                        std::span<const KeptSeries> kept) {
  GpusOfFile file{recording.path(), {}, {}};
  for (const KeptSeries& series : kept) {
    if (!file.recorded) file.recorded = {series.samples[0].unix_s, series.samples[0].unix_s};
    file.recorded->start_unix_s =
        std::min(file.recorded->start_unix_s, series.samples.front().unix_s);
    file.recorded->end_unix_s = std::max(file.recorded->end_unix_s, series.samples.back().unix_s);
  }
  if (!result.telemetry) return file;
  file.schema = result.telemetry->series.schema;
  file.models = result.telemetry->series.gpu_models;
  const std::set<std::string_view> observed(result.observed_gpu_ids.begin(),
                                            result.observed_gpu_ids.end());
  std::map<std::string_view, const GpuResult*> measured;
  for (const GpuResult& gpu : result.gpus) measured.emplace(gpu.name, &gpu);
  for (const auto& [name, key] : result.telemetry->gpus) {
    if (!observed.contains(name)) continue;
    GpuOfFile& gpu = file.gpus.emplace_back(GpuOfFile{name, key});
    const auto one = measured.find(name);
    if (one == measured.end() || !one->second->energy.bracketed || !result.load) continue;
    gpu.mean_w = one->second->energy.energy_j / result.load->window.duration_s();
  }
  add_files_beside(recording, file);
  return file;
}

// `are_counted`: the number of all GPUs is stated, and as many were observed.
void judge_repeated(std::span<const GpusOfFile> files, bool are_counted, Result& result) {
  const RepeatedGpus repeated = repeated_gpus(files);
  if (!repeated.sure.empty()) {
    result.reasons.add(Reason::gpu_identity_conflict, repeated.sure.front());
  }
  if (are_counted) return;
  if (!repeated.unclear.empty()) {
    result.reasons.add(Reason::gpu_identity_conflict, repeated.unclear.front());
  }
  for (const std::string& text : repeated.possible) {
    result.warnings.push_back("gpu_identity: " + text);
  }
}

bool are_counted(const RunOptions& run, const LoadReading& load, const Result& result) {
  const auto stated = run.expected_num_gpus ? run.expected_num_gpus : load.gpus;
  return stated == static_cast<std::int64_t>(result.observed_gpus);
}

// Whether something says which GPUs count, or how many.
bool is_count_stated(const RunOptions& run, const LoadReading& load, const Result& result) {
  return result.expected_gpus || run.expected_num_gpus || run.finds_gpus || run.gpus.is_given() ||
         load.gpus;
}

// A GPU of the recording that has no reading in or near the window is not measured; it may have
// worked nevertheless, unless something says how many did.
void judge_unread(const RunOptions& run, const LoadReading& load, Result& result) {
  if (!result.telemetry || result.telemetry->unread_gpus.empty()) return;
  const std::vector<std::string>& unread = result.telemetry->unread_gpus;
  const std::string text = fmt::format(
      "GPU {}{} of the recording {} no reading in or near the window", printable(unread.front()),
      unread.size() > 1 ? fmt::format(" and {} others", unread.size() - 1) : "",
      unread.size() > 1 ? "have" : "has");
  if (is_count_stated(run, load, result) || run.schema_version == 1) {
    result.warnings.push_back(text);
  } else {
    result.reasons.add(Reason::benchmark_window_not_bracketed,
                       text + "; if the run did not use it, choose the others with --gpus");
  }
}

// From now on the result names only the GPUs that count.
void keep_gpus(const GpusOfFile& file, Result& result) {
  if (!result.telemetry) return;
  result.telemetry->gpus.clear();
  for (const GpuOfFile& gpu : file.gpus) result.telemetry->gpus.emplace_back(gpu.name, gpu.key);
}

// Whether the load was on the GPUs that count. Under schema 1 every doubt is a warning.
void judge_work(const RunOptions& run, bool is_stated, const runs::GpusAtWork& work,
                Result& result) {
  const bool is_needed = result.is_valid() || (run.salvage && results::lacks_only_samples(result));
  const bool proposes_gpus = result.reasons.contains(Reason::same_sensor);
  if (!(is_needed || proposes_gpus) || !result.load || !did_work(*result.load)) return;
  runs::WorkDoubts doubts = runs::work_doubts(work, is_stated);
  if (proposes_gpus) {
    if (doubts.reasons.empty() && doubts.warnings.empty()) return;
    return result.warnings.push_back(
        "GPUs that were idle count, too, if --gpus names them: leave out those that the run did not use");
  }
  append(result.warnings, std::move(doubts.warnings));
  if (result.way != Way::sample_mean) return result.reasons.add(doubts.reasons);
  for (const Reasons::Entry& entry : doubts.reasons.entries()) {
    result.warnings.push_back(fmt::format("{}: {}", code(entry.reason), entry.detail));
  }
}

bool has_selected(const GpuSelection& gpus, const Result& result) {
  if (!result.telemetry) return true;  // why it was not read counts
  return std::ranges::any_of(result.telemetry->gpus, [&](const auto& gpu) {
    return gpus.has(gpu.first, gpu.second, result.telemetry->series.names_hosts);
  });
}

SelectableGpus selectable(const Result& result) {
  SelectableGpus gpus;
  if (!result.telemetry) return gpus;
  gpus.series = result.telemetry->series;
  gpus.measured = result.observed_gpu_ids;
  for (const auto& [name, key] : result.telemetry->gpus) {
    gpus.devices.push_back(name);
    gpus.keys.push_back(key);
  }
  return gpus;
}

// Whether the files of a run on disk belong together, for people.
void add_file_doubts(const RunRecordings& recordings, const LoadReading& load,
                     const FilesBeside& files, Result& result) {
  if (!result.is_valid() || !load.load) return;
  const auto add = [&](std::vector<std::string> doubts) {
    append(result.warnings, std::move(doubts));
  };
  const auto doubts_of = [&](const std::string& text) {
    std::vector<std::string> doubts = runs::count_doubts(text, load, result.observed_gpus);
    if (text.empty()) return doubts;
    append(doubts, runs::aggregate_doubts({last_name(files.aggregate), text}, load, result));
    return doubts;
  };
  add(files.aggregate.empty() ? doubts_of("") : said_by(files.aggregate, doubts_of));
  if (files.load.empty()) return;
  add(runs::shared_energy_doubts({*disk_tree(), files.load, recordings.paths.front()}, load));
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
  open.back().add_clock_offset(run.clock_offset_s);
}

RunRecordings::RunRecordings(Recording only) : paths{only.path()} {
  open.push_back(std::move(only));
}

ZonedResult evaluate(const MeasurementRequest& request, RunRecordings& recordings,
                     const PlacedLoad& placed, const FilesBeside& files) {
  const std::vector<std::string>& paths = recordings.paths;
  const bool is_only = paths.size() == 1;
  MeasurementRequest wanted = request;
  if (placed.placement) wanted.slack = placed.placement->slack;
  if (!is_only) {
    wanted.expected_num_gpus.reset();
    wanted.finds_gpus = false;
    wanted.is_one_of_several = true;
  }
  std::vector<SensorReadings> readings;
  std::vector<KeptSeries> seen;
  std::vector<std::string> counted;  // paths
  std::vector<GpusOfFile> files_of_gpus;
  std::vector<SelectableGpus> selectables;
  runs::GpusAtWork work;
  ZonedResult zoned;
  Result& result = zoned.result;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i > 0) {
      recordings.open.emplace_back(paths[i], request.zone, request.columns, request.gpus);
      recordings.open.back().add_clock_offset(request.clock_offset_s);
    }
    Recording& recording = recordings.open.back();
    SensorReadings readings_of_one;
    wanted.readings = &readings_of_one;
    SeriesSink series;
    if (!is_only) wanted.series = &series;
    runs::GpusAtWork work_of_one;
    wanted.work = &work_of_one;
    if (recordings.before) recordings.before(i, recording, wanted);
    if (i > 0) refuse_copy(recordings.open.front(), recording);
    ZonedResult one = evaluate_one(wanted, recording, placed.reading, files);
    one.result.telemetry_source = paths[i];
    if (!is_only) selectables.push_back(selectable(one.result));
    const bool is_left_out =
        !is_only && request.gpus.is_given() && !has_selected(request.gpus, one.result);
    if (is_left_out) {
      if (counted.empty()) zoned = std::move(one);  // if no other one counts
      continue;
    }
    if (!files.pair || one.result.load) judge_unread(request, placed.reading, one.result);
    if (!one.result.is_valid()) one.result.metrics.clear();
    if (recordings.after) recordings.after(i, recording, one.result);
    GpusOfFile gpus = gpus_of_file(recording, one.result, series.kept);
    keep_gpus(gpus, one.result);
    if (!is_only) files_of_gpus.push_back(std::move(gpus));
    readings.push_back(std::move(readings_of_one));
    counted.push_back(paths[i]);
    if (counted.size() == 1) {
      zoned = std::move(one);
    } else {
      add_recording(result, std::move(one.result), shared_sensors(seen, series.kept));
    }
    append(seen, std::move(series.kept));
    append(work.counted, std::move(work_of_one.counted));
    append(work.others, std::move(work_of_one.others));
    work.have_odd_readings |= work_of_one.have_odd_readings;
  }
  if (!is_only && request.gpus.is_given()) {
    std::string fault = selection_fault(request.gpus, selectables);
    if (counted.empty()) result.reasons = {};  // they follow from this one
    if (!fault.empty()) result.reasons.add(Reason::selected_gpu_missing, std::move(fault));
  }
  judge_repeated(files_of_gpus, are_counted(request, placed.reading, result), result);
  if (!is_only) check_count(request, placed.reading, result);
  if (recordings.judge) recordings.judge(result);
  const bool is_stated =
      recordings.is_number_stated || is_count_stated(request, placed.reading, result);
  judge_work(request, is_stated, work, result);
  accept_reasons(result);
  if (!result.is_valid()) result.metrics.clear();
  if (!files.pair) add_file_doubts(recordings, placed.reading, files, result);
  if (files.pair && !(files.pair->hardware && zoned.has_zone)) return zoned;
  if (!is_only && (result.is_valid() || request.salvage || request.shows_interval))
    name_recordings(counted, readings);
  if (placed.placement) {
    result.window_half_width_s = placed.placement->half_width_s;
    result.window_place_share = placed.placement->most_share();
    result.is_window_by_power = placed.placement->is_by_power;
  }
  std::string hardware;
  if (request.may_need_interval()) {
    hardware = files.pair ? *files.pair->hardware : hardware_in(files.aggregate);
  }
  add_extras({request, std::move(readings), hardware, is_only ? &recordings.open.front() : nullptr,
              request.may_use_threads, request.shows_interval && files.aggregate.empty()},
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

void show_interval_if_small(const std::list<Recording>& recordings, MeasurementRequest& wanted) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  const auto is_large = [](const Recording& recording) {
    return recording.faults().empty() && recording.bytes() > kMostBytes;
  };
  if (std::ranges::any_of(recordings, is_large)) wanted.shows_interval = false;
}

void refuse_interval(Result& result) {
  if (!result.is_valid()) return;
  result.shown_interval.emplace().energy.reasons = {no_interval("large_recording")};
}

// ---- All extras, in the order in which they are added.

namespace {

struct Extra {
  void (*refuse)(const RunOptions& run, Result& result);
  void (*add)(ExtraInput& input, Result& result);
};
// The interval depends on the calibration.
constexpr Extra kExtras[] = {{refuse_idle, add_idle},
                             {refuse_calibration, add_calibration},
                             {refuse_uncertainty, add_uncertainty},
                             {runs::refuse_salvage, runs::add_salvage}};

}  // namespace

void add_extras(ExtraInput input, Result& result) {
  for (const Extra& extra : kExtras) extra.add(input, result);
}

void add_extras_of_package(ExtraInput input, Result& result) {
  RunOptions without_idle = input.run;
  without_idle.idle.clear();
  add_extras({without_idle, std::move(input.recordings), std::move(input.hardware)}, result);
  refuse_idle_of_package(input.run, result);
}

void refuse_extras(const RunOptions& run, Result& result) {
  for (const Extra& extra : kExtras) extra.refuse(run, result);
}

}  // namespace aggregate_power
