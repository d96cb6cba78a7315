// Finds the model, and asks the table of sensors.
#include "runs/understood_sensor.h"

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "energy/placed_readings.h"

namespace aggregate_power {

GpuModel gpu_model(const SensorReadings& recording, const std::string& given,
                   const std::string& hardware) {
  if (recording.models.size() == 1) {
    GpuModel model{recording.models[0], recording.models_from};
    if (!given.empty() && !can_be_one_model(given, model.name)) {
      model.contradiction =
          fmt::format("--gpu: '{}' contradicts the recording, whose GPUs are '{}'",
                      printable(given), printable(model.name));
    }
    return model;
  }
  if (!given.empty()) return {given, "option"};
  // Several kinds: which GPU is of which is not known.
  if (recording.models.empty() && !hardware.empty()) return {hardware, "aggregate"};
  return {};
}

KnownSensor understood_sensor(const SensorReadings& recording, const GpuModel& model) {
  SensorQuestion question{recording.series.sensor, model.name, recording.series.has_average_power};
  for (const GatheredReadings& gpu : recording.gpus) {
    if (gpu.samples.size() > 2) question.period_s = median_period_s(gpu.samples);
  }
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
