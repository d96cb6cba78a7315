// Finds the model, and asks the table of sensors.
#include "runs/measure/understood_sensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/characters.h"
#include "energy/uncertainty/placed_readings.h"

namespace aggregate_power {

GpuModel gpu_model(const SensorReadings& recording, const std::string& given,
                   const std::string& hardware) {
  GpuModel model;
  const Sensor& sensor = recording.series.sensor;
  if (!given.empty()) {
    model = {given, "option"};
    for (const std::string& named : recording.models) {
      if (can_be_one_model(given, named)) continue;
      model.contradiction =
          fmt::format("--gpu-model: '{}' contradicts the recording, whose GPUs are '{}'",
                      printable(given), printable(named));
    }
    if (!can_measure(sensor, given)) {
      model.contradiction = fmt::format("--gpu-model: '{}' is no GPU that {} can read",
                                        printable(given), printable(sensor.collector));
    }
  }
  if (recording.models.size() == 1) {
    model.name = recording.models[0];
    model.known_from = recording.models_from;
  } else if (given.empty() && recording.models.empty() && can_measure(sensor, hardware)) {
    // Of several kinds, which GPU is of which is not known.
    if (!hardware.empty()) model = {hardware, "aggregate"};
  }
  return model;
}

KnownSensor understood_sensor(const SensorReadings& recording, const GpuModel& model) {
  SensorQuestion question{recording.series.sensor, model.name, recording.series.has_average_power};
  const auto last =
      std::ranges::find_if(recording.gpus.rbegin(), recording.gpus.rend(),
                           [](const GatheredReadings& gpu) { return gpu.samples.size() > 2; });
  if (last != recording.gpus.rend()) question.period_s = median_period_s(last->samples);
  return known_sensor(question);
}

std::vector<SensorModel> sensor_models(const Recording& recording, const SeriesFacts& series,
                                       const std::string& given, const std::string& hardware,
                                       double period_s) {
  SensorReadings readings;
  readings.series = series;
  find_models(recording, readings);
  const GpuModel model = gpu_model(readings, given, hardware);
  return known_sensor({series.sensor, model.name, series.has_average_power, period_s}).models;
}

}  // namespace aggregate_power
