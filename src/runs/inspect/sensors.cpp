// Compares what a recording shows with the table of sensors.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "core/energy/recording_summary.h"
#include "energy/uncertainty/gather.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/readings.h"
#include "runs/inspect/inspect.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// What a recording shows of one sensor.
struct Shown {
  std::size_t readings = 0;
  double period_s = 0;
  double stale_share = 0;           // of readings that repeat the one before
  std::optional<double> refresh_s;  // between changes; nullopt: the recorder was too slow to see it
  std::optional<double> quantum_w;  // least difference of two values
  double stuck_s = 0;               // one value under load
  std::size_t implausible = 0;      // zeros and spikes on their own
  std::optional<double> counter_s;  // between steps of the energy counter
  std::optional<double> limit_w;
};

std::optional<double> least_difference(std::span<const Sample> samples) {
  std::vector<double> watts;
  watts.reserve(samples.size());
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  std::ranges::sort(watts);
  std::optional<double> least;
  for (std::size_t i = 1; i < watts.size(); ++i) {
    // Smaller ones are rounding errors of binary numbers.
    const double difference = watts[i] - watts[i - 1];
    if (difference > 1e-6 && (!least || difference < *least)) least = difference;
  }
  return least;
}

std::optional<double> step_period_s(std::span<const CounterSample> counter) {
  std::vector<double> steps_s;
  std::optional<double> last_unix_s;
  for (std::size_t i = 1; i < counter.size(); ++i) {
    if (counter[i].joules == counter[i - 1].joules) continue;
    if (last_unix_s) steps_s.push_back(counter[i].unix_s - *last_unix_s);
    last_unix_s = counter[i].unix_s;
  }
  if (steps_s.empty()) return std::nullopt;
  return quantile_of(steps_s, 0.5);
}

void observe_changes(std::span<const Sample> samples, Shown& shown) {
  std::vector<Sample> changes;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].watts != samples[i - 1].watts) changes.push_back(samples[i]);
  }
  const auto steps = static_cast<double>(samples.size() - 1);
  shown.stale_share = 1 - static_cast<double>(changes.size()) / steps;
  if (shown.stale_share > 0.2 && changes.size() > 2) shown.refresh_s = median_period_s(changes);
}

Shown shown_by(const GatheredReadings& gpu, const std::vector<DeviceCounter>& counters) {
  Shown shown;
  shown.readings = gpu.samples.size();
  shown.limit_w = gpu.conditions.limit_w;
  if (gpu.samples.size() < 2) return shown;
  shown.period_s = median_period_s(gpu.samples);
  observe_changes(gpu.samples, shown);
  shown.quantum_w = least_difference(gpu.samples);
  const SoundReadings sound = sound_readings(gpu.samples, gpu.conditions.limit_w);
  shown.implausible = sound.implausible;
  for (const Window& stuck : sound.stuck) shown.stuck_s += stuck.duration_s();
  const auto counter = std::ranges::find(counters, gpu.gpu, &DeviceCounter::device);
  if (counter != counters.end()) shown.counter_s = step_period_s(counter->samples);
  return shown;
}

Json shown_json(const Shown& shown) {
  return {{"readings", shown.readings},
          {"period_s", shown.period_s},
          {"refresh_observed_s", or_null(shown.refresh_s)},
          {"stale_share", shown.stale_share},
          {"quantum_w", or_null(shown.quantum_w)},
          {"stuck_s", shown.stuck_s},
          {"implausible_readings", shown.implausible},
          {"counter_step_s", or_null(shown.counter_s)},
          {"power_limit_w", or_null(shown.limit_w)}};
}

std::string model_text(const GpuModel& model) {
  if (model.name.empty()) return "unknown; --gpu-model names it";
  const std::string from = model.known_from == "name_column"     ? "named by the recording"
                           : model.known_from == "identity_file" ? "named by a file beside it"
                                                                 : "from --gpu-model";
  return fmt::format("{} ({})", printable(model.name), from);
}

std::string averaging_text(const KnownSensor& known) {
  if (known.models.empty()) return "unknown: " + known.unresolved;
  const auto texts = mapped(known.models, [](const SensorModel& model) {
    return fmt::format("{:g} s every {:g} s", model.window_s, model.refresh_s);
  });
  return fmt::format("{}: a reading is the mean power over {}", known.name,
                     fmt::join(texts, ", or over "));
}

}  // namespace

GpuSensorsReport inspect_gpu_sensors(const Recording& recording, const SeriesFacts& series,
                                     std::vector<GatheredReadings> gpus, const std::string& gpu) {
  const SensorReadings readings =
      sensor_readings(recording, kAlways, std::move(gpus), Integration(), series);
  const GpuModel model = gpu_model(readings, gpu, {});
  const KnownSensor known = understood_sensor(readings, model);
  const char* const stamps =
      readings.stamps == Stamps::whole_seconds ? "whole_seconds" : "query_time";
  GpuSensorsReport report;
  report.text = "\n" + fact("model", model_text(model)) + fact("sensor", averaging_text(known)) +
                fact("stamps", *stamps == 'w' ? "whole seconds, cut" : "when the recorder asked");
  if (!model.contradiction.empty()) report.text += fact("", model.contradiction);
  const TextTable table(
      "[device <20] [period s >8.3f] [refresh s >9.3f] [stale % >7.1f] [quantum W >9.3f] [stuck s >8.1f] [faulty >8] [counter s >9.3f]");
  report.text += table.head();
  Json devices = Json::object();
  for (const GatheredReadings& each : readings.gpus) {
    const Shown shown = shown_by(each, readings.counters);
    table.add({printable(each.gpu), shown.period_s, shown.refresh_s, 100 * shown.stale_share,
               shown.quantum_w, shown.stuck_s, shown.implausible, shown.counter_s},
              report.text);
    devices[each.gpu] = shown_json(shown);
  }
  report.json = {
      {"model", text_or_null(model.name)},
      {"known_from", text_or_null(model.known_from)},
      {"boards", known.name},
      {"column", readings.series.sensor.name},
      {"window_s",
       list_of(known.models, [&](const SensorModel& each) -> Json { return each.window_s; })},
      {"refresh_s", known.models.empty() ? Json() : Json(known.models[0].refresh_s)},
      {"stamps", stamps},
      {"unresolved", text_or_null(known.unresolved)},
      {"contradiction", text_or_null(model.contradiction)},
      {"devices", std::move(devices)}};
  return report;
}

// ---- Lays out the sensors as a table, and as JSON.

namespace {

constexpr double kJoulesPerKwh = 3.6e6;

std::optional<double> mean_w(const SensorEnergy& sensor) {
  if (!(sensor.duration_s > 0)) return std::nullopt;
  return sensor.total_j / sensor.duration_s;
}

}  // namespace

std::string sensors_text(const std::vector<SensorEnergy>& sensors,
                         const std::vector<SensorSum>& sums) {
  if (sensors.empty()) return {};
  const TextTable energies(
      "[sensor <13][energy J >13.3f][held back J >13.3f][kWh >11.6f][seconds >10.3f][mean W >9.2f][max W >9.2f]");
  const TextTable by_segment("[sensor <12] [J by segment >13.3f]");
  std::string text = "\n" + energies.head();
  std::string segments = "\n" + by_segment.head();
  for (const SensorEnergy& sensor : sensors) {
    const std::string name = printable(sensor.name);
    energies.add({name, sensor.total_j, sensor.held_back_j, sensor.total_j / kJoulesPerKwh,
                  sensor.duration_s, mean_w(sensor), sensor.max_w},
                 text);
    std::vector<TextCell> cells = {name};
    append(cells, sensor.segments_j);
    by_segment.add(cells, segments);
  }
  if (sensors[0].segments_j.size() > 1) text += segments;
  if (sensors[0].segments_j.empty()) text += "\ntoo many segments to show the energy of each\n";
  text += "\n";
  for (const SensorSum& sum : sums) {
    text += fact("sum", fmt::format("{}: {} ({})", one_line(sum.text),
                                    sum.holds ? "holds" : "does not hold", one_line(sum.detail)));
  }
  return text;
}

Json sensors_json(const std::vector<SensorEnergy>& sensors, const std::vector<SensorSum>& sums) {
  return {{"energies", list_of(sensors,
                               [](const SensorEnergy& sensor) -> Json {
                                 return {{"name", sensor.name},
                                         {"energy_j", sensor.total_j},
                                         {"segments_j", sensor.segments_j},
                                         {"held_back_j", sensor.held_back_j},
                                         {"energy_kwh", sensor.total_j / kJoulesPerKwh},
                                         {"first_unix", sensor.first_unix_s},
                                         {"last_unix", sensor.last_unix_s},
                                         {"duration_s", sensor.duration_s},
                                         {"mean_w", or_null(mean_w(sensor))},
                                         {"max_w", sensor.max_w}};
                               })},
          {"sums", list_of(sums, [&](const SensorSum& sum) -> Json {
             return {{"sum", sum.text}, {"holds", sum.holds}, {"detail", sum.detail}};
           })}};
}

}  // namespace aggregate_power
