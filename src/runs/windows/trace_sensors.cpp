// Asks the table of sensors, and the estimator.
#include "runs/windows/trace_sensors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/gather.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/zones/window_doubts.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/uncertainty.h"
#include "runs/window/result_clock.h"

namespace aggregate_power::runs {
namespace {

bool are_whole_seconds(const Traces& traces) {
  return std::ranges::all_of(traces.devices, [](const PowerTrace& device) {
    return std::ranges::all_of(device.samples(), [](const Sample& sample) {
      return sample.unix_s == std::floor(sample.unix_s);
    });
  });
}

bool are_alike(const std::vector<SensorModel>& one, const std::vector<SensorModel>& other) {
  return std::ranges::equal(one, other, [](const SensorModel& a, const SensorModel& b) {
    return a.window_s == b.window_s && a.refresh_s == b.refresh_s;
  });
}

TraceSensors sensors_of_file(const TraceFile& file, const Traces& traces,
                             const UncertaintyOptions& options) {
  SensorReadings readings;
  readings.series = file.facts.series;
  readings.models = file.models;
  readings.models_from = file.models_from;
  const GpuModel model = gpu_model(readings, options.gpu, "");
  SensorQuestion question{file.facts.series.sensor, model.name,
                          file.facts.series.has_average_power};
  if (!traces.devices.empty()) question.period_s = median_period_s(traces.devices[0].samples());
  KnownSensor known = known_sensor(question);
  TraceSensors found{.field = file.facts.series.sensor.name,
                     .boards = model.name.empty() ? known.name : printable(model.name)};
  found.unresolved = model.contradiction.empty() ? known.unresolved : model.contradiction;
  if (!options.sensor_accuracy) found.accuracy = known.accuracy;
  if (found.unresolved.empty()) found.models = std::move(known.models);
  return found;
}

}  // namespace

double TraceSensors::window_s() const {
  return largest_of<double>(0, models, &SensorModel::window_s);
}

double TraceSensors::age_s() const {
  const double sum_s = summed(models, [](const SensorModel& model) {
    return model.delay_s + (model.refresh_s + model.window_s) / 2;
  });
  return models.empty() ? 0 : sum_s / static_cast<double>(models.size());
}

CalibratedGpus gpus_of_traces(const UncertaintyOptions& options, const Traces& traces) {
  const TraceFile& file = traces.files.front();
  return gpus_read(file.facts, traces.devices.size(), file.models, options.gpu);
}

UncertaintyOptions with_calibration(UncertaintyOptions options, const AppliedProfile& profile) {
  if (!options.sensor_accuracy) options.sensor_accuracy = profile.sensor_accuracy();
  return options;
}

TraceSensors trace_sensors(const Traces& traces, const UncertaintyOptions& options) {
  TraceSensors found;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    TraceSensors own = sensors_of_file(traces.files[i], traces, options);
    if (i == 0)
      found = std::move(own);
    else if (found.models.empty() || are_alike(found.models, own.models))
      continue;
    else {
      found.models.clear();
      found.unresolved = "the recordings are of different sensors: measure each alone";
    }
  }
  if (!traces.devices.empty() && are_whole_seconds(traces)) found.stamps = Stamps::whole_seconds;
  return found;
}

std::string smear_note(const TraceSensors& sensors, double shortest_s) {
  constexpr double kManyWindows = 10;
  const double window_s = sensors.window_s();
  const bool are_averages =
      !sensors.models.empty() && std::ranges::all_of(sensors.models, &SensorModel::is_averaged);
  if (!are_averages || shortest_s >= kManyWindows * window_s) return {};
  return fmt::format(
      "'{}' of {} is the mean of {:g} s: windows below {:g} s are smeared; --uncertainty puts an interval on each",
      printable(sensors.field), sensors.boards, window_s, kManyWindows * window_s);
}

GpuReadings readings_around(const PowerTrace& power, std::span<const CounterSample> counter,
                            const TraceSensors& sensors, Window window, double published_j) {
  const Window around = gathered_around(window);
  const std::span<const Sample> samples = samples_in(power.samples(), around);
  GpuReadings readings{.name = power.device(),
                       .model = sensors.boards,
                       .samples = {samples.begin(), samples.end()},
                       .counter = {},
                       .sensors = sensors.models,
                       .stamps = sensors.stamps,
                       .published_j = published_j,
                       .accuracy = sensors.accuracy};
  for (const CounterSample& sample : counter) {
    if (around.contains(sample.unix_s)) readings.counter.push_back(sample);
  }
  return readings;
}

EnergyEstimate estimate_stretch(std::vector<GpuReadings> gpus, Window window,
                                const UncertaintyOptions& options) {
  EstimateQuestion question{.window = window, .gpus = std::move(gpus)};
  question.accuracy = sensor_accuracy(options.sensor_accuracy);
  question.clock_uncertainty_s = options.clock_uncertainty_s.value_or(kOneHostClock_s);
  return estimate_energy(std::move(question));
}

// ---- Whether windows are where their loads are, by the recordings' clock.

namespace {

constexpr std::size_t kReadAtOnce = 4096;

bool is_hold(const TraceFile& file) {
  return file.facts.series.interpolation == Interpolation::hold;
}

void take_samples(const Traces& traces, OwnZone& own) {
  std::vector<Reading> readings;
  for (std::uint32_t device = 0; device < traces.devices.size(); ++device) {
    std::span<const Sample> rest = traces.devices[device].samples();
    while (!rest.empty()) {
      const auto part = rest.first(std::min(rest.size(), kReadAtOnce));
      rest = rest.subspan(part.size());
      readings.clear();
      for (const Sample& sample : part) {
        readings.push_back({sample.unix_s, sample.watts, device});
      }
      own.take(readings);
    }
  }
}

std::optional<double> written_unix_s(const std::string& recording, const std::string& file) {
  const auto tree = disk_tree();
  const auto written_ns = own_time_ns(tree->written_ns(recording),
                                      file.empty() ? std::nullopt : tree->written_ns(file));
  return written_ns ? std::optional(static_cast<double>(*written_ns) / 1e9) : std::nullopt;
}

// Recordings whose zones are not all this process's are not asked.
void judge_own_zone_of(const Traces& traces, const PlacedSpan& span,
                       std::vector<std::string>& warnings) {
  const bool are_own = std::ranges::all_of(
      traces.files, [](const TraceFile& file) { return OwnZone::is_used(file.facts); });
  if (!are_own || traces.devices.empty()) return;
  OwnZone own(span.window);
  take_samples(traces, own);
  const TraceFile& first = traces.files.front();
  const OwnZoneFinding finding =
      own.finding(first.path, first.facts, written_unix_s(first.path, span.file));
  if (!finding.contradiction.empty()) {
    throw Error(fmt::format("{}: {} ({}): give --timezone", printable_path(first.path),
                            code(Reason::timezone_ambiguous), finding.contradiction));
  }
  if (!finding.warning.empty()) warnings.push_back(finding.warning);
}

}  // namespace

std::vector<std::string> place_doubts(const Traces& traces, const PlacedSpan& span) {
  std::vector<std::string> warnings;
  if (traces.devices.empty() || !(span.window.duration_s() > 0)) return warnings;
  judge_own_zone_of(traces, span, warnings);
  if (std::ranges::any_of(traces.files, is_hold)) return warnings;
  energy::WindowDoubts doubts =
      energy::window_doubts(mapped<std::span<const Sample>>(traces.devices, &PowerTrace::samples),
                            span.window, {.offset_s = span.clock_offset_s});
  Reasons accepted;
  doubts.certain.accept(span.accepted, accepted);
  const std::string& path = traces.files.front().path;
  if (!doubts.certain.empty()) refuse_doubts(path, doubts.certain);
  for (const Reasons::Entry& entry : accepted.entries()) {
    warnings.push_back(fmt::format("{}: accepted by the caller: {} ({})", printable_path(path),
                                   code(entry.reason), entry.detail));
  }
  for (const Reasons::Entry& entry : doubts.possible.entries()) {
    // A list of windows may be of idle time on purpose.
    if (!span.is_of_load && entry.reason == Reason::load_outside_window) continue;
    warnings.push_back(
        fmt::format("{}: {}: {}", printable_path(path), code(entry.reason), entry.detail));
  }
  return warnings;
}

}  // namespace aggregate_power::runs
