// Reads counters and the files beside a recording.
#include "runs/sensor_readings.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/files/byte_source.h"
#include "base/text/unicode.h"
#include "recorders/gpu_models.h"

namespace aggregate_power {
namespace {

constexpr const char* kFilesBeside[] = {"_identity.csv", "_identity.json", "_devices.json"};

// Of a table without quotes, as nvidia-smi writes it.
void add_models_of_cells(std::string_view text, std::vector<std::string>& models) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(",\r\n"), text.size());
    const std::string_view cell = strip(text.substr(0, end));
    if (is_model_name(cell)) note_model(cell, models);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string> models_beside(const Recording& recording) {
  std::vector<std::string> models;
  for (const char* const end : kFilesBeside) {
    try {
      const auto source = recording.beside(end);
      if (!source) continue;
      const std::string text = read_up_to(*source, kHeadBytes);
      models = gpu_models_in(text);
      if (models.empty()) add_models_of_cells(text, models);
    } catch (const std::exception&) {  // whoever needs that file says what is wrong with it
    }
    if (!models.empty()) break;
  }
  return models;
}

std::vector<DeviceCounter> counters_around(const Recording& recording, Window window) {
  try {
    return read_counters(recording, {window.start_unix_s - ReadingGatherer::kAroundS,
                                     window.end_unix_s + ReadingGatherer::kAroundS});
  } catch (const std::exception&) {  // it changed, or its end is broken: the run's record says so
    return {};
  }
}

}  // namespace

void find_models(const Recording& recording, SensorReadings& readings) {
  readings.models = readings.series.gpu_models;
  if (!readings.models.empty()) {
    readings.models_from = "name_column";
    return;
  }
  readings.models = models_beside(recording);
  if (!readings.models.empty()) readings.models_from = "identity_file";
}

SensorReadings sensor_readings(const Recording& recording, Window window,
                               std::vector<GatheredReadings> gathered, const SeriesFacts& series) {
  SensorReadings readings;
  readings.gpus = std::move(gathered);
  readings.series = series;
  find_models(recording, readings);
  if (series.counter) readings.counters = counters_around(recording, window);
  return readings;
}

}  // namespace aggregate_power
