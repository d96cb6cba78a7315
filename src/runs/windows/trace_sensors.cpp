// Asks the table of sensors, and the estimator.
#include "runs/windows/trace_sensors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/gather.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/sensor_table.h"
#include "runs/measure/uncertainty.h"

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
  double longest_s = 0;
  for (const SensorModel& model : models) longest_s = std::max(longest_s, model.window_s);
  return longest_s;
}

double TraceSensors::age_s() const {
  double sum_s = 0;
  for (const SensorModel& model : models) {
    sum_s += model.delay_s + (model.refresh_s + model.window_s) / 2;
  }
  return models.empty() ? 0 : sum_s / static_cast<double>(models.size());
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

}  // namespace aggregate_power::runs
