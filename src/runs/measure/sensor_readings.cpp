// Reads counters and the files beside a recording.
#include "runs/measure/sensor_readings.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/system/byte_source.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/telemetry/gpu_models.h"

namespace aggregate_power {
namespace {

// Their stamps are instants on a grid, or of a scrape, and not cut.
constexpr std::string_view kExactStamps[] = {"prometheus", "victoriametrics", "grafana",
                                             "exporter-scrapes", "zeus-timeline"};

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
  for (const ModelFile& file : kModelFiles) {
    try {
      const auto source = recording.beside(file.end);
      if (!source) continue;
      models = models_in(read_up_to(*source, kHeadBytes));
    } catch (const std::exception&) {  // whoever needs that file says what is wrong with it
    }
    if (!models.empty()) break;
  }
  return models;
}

std::vector<DeviceCounter> counters_around(const Recording& recording, Window window) {
  try {
    return read_counters(recording, gathered_around(window));
  } catch (const std::exception&) {  // it changed, or its end is broken: the run's record says so
    return {};
  }
}

SensorReadings readings_alone(std::vector<GatheredReadings> gathered,
                              const Integration& integration) {
  SensorReadings readings;
  readings.gpus = std::move(gathered);
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    readings.published_j[integration.gpu_ids[i]] = integration.gpus[i].energy_j;
  }
  return readings;
}

}  // namespace

std::vector<std::string> model_files_beside(const std::string& recording) {
  std::vector<std::string> files;
  for (const ModelFile& file : kModelFiles) {
    files.push_back(beside(recording, plain_stem(recording) + file.end));
  }
  return files;
}

std::vector<std::string> models_in(const std::string& text) {
  std::vector<std::string> models = gpu_models_in(text);
  if (models.empty()) add_models_of_cells(text, models);
  return models;
}

void AllReadings::take(const Batch& batch) {
  samples.take(batch.readings);
  notes.take(batch);
}

std::vector<GatheredReadings> AllReadings::finish(std::span<const std::string> names) {
  samples.sort();
  return gather(kAlways, std::move(samples), notes, names);
}

Stamps stamps_of(std::span<const GatheredReadings> gpus, const SeriesFacts& series) {
  const bool are_exact = std::ranges::any_of(
      kExactStamps, [&](std::string_view schema) { return series.schema.starts_with(schema); });
  const bool are_cut = !are_exact && std::ranges::all_of(gpus, [](const GatheredReadings& gpu) {
    return gpu.samples.size() > 2 && gpu.are_whole_seconds;
  });
  return are_cut ? Stamps::whole_seconds : Stamps::query_time;
}

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
                               std::vector<GatheredReadings> gathered,
                               const Integration& integration, const SeriesFacts& series) {
  SensorReadings readings = readings_alone(std::move(gathered), integration);
  readings.stamps = stamps_of(readings.gpus, series);
  readings.series = series;
  find_models(recording, readings);
  if (series.counter && series.counter->is_unit_stated)
    readings.counters = counters_around(recording, window);
  return readings;
}

SensorReadings wanted_readings(const RunOptions& run, const Recording& recording, Window window,
                               std::vector<GatheredReadings> gathered,
                               const Integration& integration, const SeriesFacts& series) {
  if (run.may_need_interval()) {
    return sensor_readings(recording, window, std::move(gathered), integration, series);
  }
  return run.idle.empty() ? SensorReadings() : readings_alone(std::move(gathered), integration);
}

void rename_gpus(const std::map<std::string, std::string>& names, SensorReadings& readings) {
  std::erase_if(readings.gpus, [&](auto& gpu) { return !names.contains(gpu.gpu); });
  for (GatheredReadings& gpu : readings.gpus) gpu.gpu = names.at(gpu.gpu);
  std::erase_if(readings.counters, [&](auto& counter) { return !names.contains(counter.device); });
  for (DeviceCounter& counter : readings.counters) counter.device = names.at(counter.device);
  std::map<std::string, double> published_j;
  for (const auto& [gpu, joules] : readings.published_j) {
    if (const auto name = names.find(gpu); name != names.end()) published_j[name->second] = joules;
  }
  readings.published_j = std::move(published_j);
}

}  // namespace aggregate_power
