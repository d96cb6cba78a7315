// Finds the sensor of each GPU, and asks for the estimate.
#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/byte_source.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "base/text/suggest.h"
#include "core/model/code_descriptions.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/power_limits.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/sensor_table.h"
#include "runs/measure/extras.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// Between the clocks of recorder and load generator, under NTP; standard.
constexpr double kSeveralHostsClock_s = 0.05;

// What is being put together.
struct Building {
  const UncertaintyOptions& options;
  const std::string& hardware;
  EstimateQuestion question;
  Uncertainty uncertainty;
  std::vector<std::string> assumptions;
  std::vector<Verdict> verdicts;

  void refuse(const std::string& advice) {
    uncertainty.energy.reasons = {no_interval("sensor_scope_unknown")};
    if (std::ranges::count(uncertainty.advice, advice) == 0) {
      uncertainty.advice.push_back(advice);
    }
  }
};

bool reads_nothing(const GatheredReadings& gpu, Window window) {
  bool reads_zero = false;
  for (const Sample& sample : gpu.samples) {
    if (!window.contains(sample.unix_s)) continue;
    if (sample.watts > 0) return false;
    reads_zero = true;
  }
  return reads_zero;
}

// An odd die of a package of two that reads power, which the first die's sensor should hold.
bool contradicts_second_dies(const KnownSensor& known, const GatheredReadings& gpu, Window window) {
  const std::string id = gpu.gpu.substr(gpu.gpu.rfind('/') + 1);
  const bool is_odd =
      !id.empty() && id.find_first_not_of("0123456789") == id.npos && (id.back() - '0') % 2 == 1;
  return known.has_second_dies && is_odd && !reads_nothing(gpu, window);
}

std::vector<CounterSample> counter_of(const SensorReadings& recording, const std::string& gpu) {
  const auto found = std::ranges::find(recording.counters, gpu, &DeviceCounter::device);
  return found == recording.counters.end() ? std::vector<CounterSample>() : found->samples;
}

void note_once(const std::vector<std::string>& codes, std::vector<std::string>& into) {
  for (const std::string& code : codes) {
    if (std::ranges::count(into, code) == 0) into.push_back(code);
  }
}

// Of a GPU that reads 0 W throughout: whether its energy is in another GPU's.
bool is_second_die(const KnownSensor& known, const GatheredReadings& gpu, Window window) {
  return known.has_second_dies && reads_nothing(gpu, window);
}

void add_gpu(const SensorReadings& recording, const GpuModel& model, const KnownSensor& known,
             GatheredReadings& gpu, Building& building) {
  const auto published = recording.published_j.find(gpu.gpu);
  if (published == recording.published_j.end()) return;  // not one of those that were selected
  if (is_second_die(known, gpu, building.question.window)) {
    building.verdicts.push_back({verdict_word("second_die"),
                                 {gpu.gpu},
                                 "0 W throughout: the other die's sensor counts both"});
    return;
  }
  static constexpr Pattern mig = {R"(.*\bMIG\b.*)", Pattern::Case::either};
  if (contradicts_second_dies(known, gpu, building.question.window)) {
    building.refuse(fmt::format(
        "GPU {} is the second die of an MI250X and reads power: whether that is its own is not known; record rocm-smi's or amd-smi's power of the first dies",
        printable(gpu.gpu)));
  } else if ((!model.name.empty() && mig.matches(model.name)) ||
             gpu.gpu.substr(gpu.gpu.rfind('/') + 1).starts_with("MIG-")) {
    building.refuse("a MIG instance repeats the power of its whole GPU; record the GPU itself");
  } else if (reads_nothing(gpu, building.question.window)) {
    building.refuse(fmt::format(
        "GPU {} reads 0 W throughout: a second die of an MI250X, or a sensor that is off; name the model with --gpu-model, or leave the GPU out with --gpus",
        printable(gpu.gpu)));
  } else if (!known.unresolved.empty()) {
    building.refuse(fmt::format("GPU {}: {}", printable(gpu.gpu), known.unresolved));
  }
  UnderstoodSensor understood{
      model.name,
      model.known_from,
      recording.series.sensor.name,
      {},
      0,
      recording.stamps == Stamps::whole_seconds ? "whole_seconds" : "query_time",
      {}};
  for (const SensorModel& sensor : known.models) understood.windows_s.push_back(sensor.window_s);
  const bool has_counter = recording.series.counter && recording.series.counter->is_unit_stated;
  if (has_counter) understood.counter_column = recording.series.counter->name;
  if (!known.models.empty()) understood.refresh_s = known.models.front().refresh_s;
  GpuReadings readings{gpu.gpu,
                       model.name.empty() ? known.name : model.name,
                       {},
                       {},
                       known.models,
                       gpu.conditions,
                       recording.stamps,
                       published->second};
  if (!building.options.sensor_accuracy) readings.accuracy = known.accuracy;
  readings.samples = std::move(gpu.samples);
  if (!known.counts_module) readings.counter = counter_of(recording, gpu.gpu);
  building.question.gpus.push_back(std::move(readings));
  building.uncertainty.sensors.push_back(std::move(understood));
  note_once(known.assumptions, building.assumptions);
}

void add_sensors_of(SensorReadings& recording, Building& building) {
  const GpuModel model = gpu_model(recording, building.options.gpu, building.hardware);
  if (!model.contradiction.empty()) building.refuse(model.contradiction);
  const KnownSensor known = understood_sensor(recording, model);
  if (recording.series.counter && recording.series.counter->is_unit_stated && known.counts_module) {
    note_once({assumption("counter_of_module_not_used")}, building.assumptions);
  }
  for (const auto& [gpu, joules] : recording.published_j) {
    const bool is_gathered =
        std::ranges::find(recording.gpus, gpu, &GatheredReadings::gpu) != recording.gpus.end();
    if (!is_gathered) building.uncertainty.energy.reasons = {no_interval("too_few_readings")};
  }
  for (GatheredReadings& gpu : recording.gpus) add_gpu(recording, model, known, gpu, building);
}

double clock_uncertainty_s(const UncertaintyOptions& options,
                           const std::vector<SensorReadings>& recordings) {
  std::size_t hosts = 0;
  for (const SensorReadings& recording : recordings) hosts += recording.hosts;
  return options.clock_uncertainty_s.value_or(hosts > 1 ? kSeveralHostsClock_s : kOneHostClock_s);
}

// Why a run may be refused that has GPUs without a sensor of their own.
std::vector<std::string> advice_on_zeros(std::span<const SensorReadings> recordings,
                                         Window window) {
  std::vector<std::string> zeros;
  std::vector<std::string> others;
  for (const SensorReadings& recording : recordings) {
    for (const GatheredReadings& gpu : recording.gpus) {
      (reads_nothing(gpu, window) ? zeros : others).push_back(gpu.gpu);
    }
  }
  if (zeros.empty() || others.empty()) return {};
  return {fmt::format(
      "GPUs {} read 0 W throughout, as the second dies of an MI250X do, whose first dies report both: leave them out with {}",
      printable(joined_text(zeros, ", "), 200), gpus_option(others))};
}

// Starting threads takes longer than they save for few readings.
std::size_t threads_for(std::span<const GpuReadings> gpus, bool may_use_threads) {
  constexpr std::size_t kManyReadings = 100'000;
  std::size_t readings = 0;
  for (const GpuReadings& gpu : gpus) readings += gpu.samples.size();
  return may_use_threads && readings > kManyReadings ? usable_processors() : 1;
}

// A model that the table of sensors does not know; empty: it does, or none is given.
std::string unknown_model_text(const std::string& model) {
  const bool is_known = model.empty() || power_limit_of(model) ||
                        known_sensor({.sensor = {}, .model = model}).name != "unknown";
  if (is_known) return {};
  std::vector<std::string> known;
  for (const PowerLimit& limit : power_limits()) {
    known.emplace_back(limit.gpu);
    known.emplace_back(limit.gpu.substr(0, limit.gpu.find(' ')));
  }
  return fmt::format(
      "--gpu-model: no GPU is known as '{}'{}; 'aggregate-power help uncertainty' lists the sensors",
      printable(model), did_you_mean(model, known));
}

void set_no_power(Result& result) {
  result.uncertainty.emplace();
  result.uncertainty->energy.reasons = {no_interval("power_not_valid")};
}

}  // namespace

void refuse_uncertainty(const RunOptions& run, Result& result) {
  if (run.uncertainty.is_wanted) set_no_power(result);
}

Uncertainty uncertainty_of(ExtraInput& input, const Result& result) {
  UncertaintyOptions options = input.run.uncertainty;
  if (!options.sensor_accuracy) options.sensor_accuracy = input.sensor_accuracy;
  std::vector<SensorReadings>& recordings = input.recordings;
  Building building{options, input.hardware, {}, {}, {}, {}};
  building.question.window = result.load->window;
  building.question.accuracy = sensor_accuracy(options.sensor_accuracy);
  building.question.place_half_width_s = result.window_half_width_s.value_or(0);
  building.question.place_most_share = result.window_place_share;
  building.question.is_placed_by_power = result.is_window_by_power;
  building.question.clock_uncertainty_s = clock_uncertainty_s(options, recordings);
  for (SensorReadings& recording : recordings) add_sensors_of(recording, building);
  building.question.most_threads = threads_for(building.question.gpus, input.may_use_threads);
  Uncertainty& uncertainty = building.uncertainty;
  if (uncertainty.energy.is_available() && building.question.gpus.empty()) {
    uncertainty.energy.reasons = {no_interval("too_few_readings")};
  }
  if (uncertainty.energy.is_available()) {
    uncertainty.energy = estimate_energy(std::move(building.question));
  }
  note_once(building.assumptions, uncertainty.energy.assumptions);
  append(uncertainty.energy.verdicts, std::move(building.verdicts));
  return std::move(uncertainty);
}

// Where the load's edges are so far from the window's that the published energy cannot be right.
void warn_of_clock(const EnergyEstimate& energy, Result& result) {
  constexpr std::string_view kCode = "clock_offset_suspected";
  const auto verdict = [&](std::string_view code) {
    return std::ranges::find(energy.verdicts, code, &Verdict::code);
  };
  const auto shift = verdict(kCode);
  const bool is_known = std::ranges::any_of(result.warnings, [&](const std::string& warning) {
    return warning.find(kCode) != warning.npos;
  });
  if (is_known || shift == energy.verdicts.end() ||
      verdict("published_outside_interval") == energy.verdicts.end()) {
    return;
  }
  result.warnings.push_back(fmt::format(
      "{}: {}: the published energy is {:+.2g} % off its interval's middle; correct the clock with --clock-offset",
      kCode, shift->detail, 100 * (energy.published_j / energy.total.joules - 1)));
}

void add_uncertainty(ExtraInput& input, Result& result) {
  const UncertaintyOptions& options = input.run.uncertainty;
  std::vector<SensorReadings>& recordings = input.recordings;
  if (!options.is_wanted) {
    const bool is_shown = input.run.shows_interval && result.is_valid() && result.load;
    if (!is_shown) return;
    if (std::string text = unknown_model_text(options.gpu); !text.empty()) {
      result.warnings.push_back(std::move(text));
    }
    result.shown_interval = uncertainty_of(input, result);
    warn_of_clock(result.shown_interval->energy, result);
    return;
  }
  if (!result.is_valid() || !result.load) {
    set_no_power(result);
    result.uncertainty->advice =
        result.load ? advice_on_zeros(recordings, result.load->window) : std::vector<std::string>();
    for (const std::string& advice : result.uncertainty->advice) result.hints.push_back(advice);
    return;
  }
  if (std::string text = unknown_model_text(options.gpu); !text.empty()) {
    result.warnings.push_back(std::move(text));
  }
  Uncertainty uncertainty = uncertainty_of(input, result);
  for (const std::string& advice : uncertainty.advice) {
    result.warnings.push_back(fmt::format("no interval: {}", advice));
  }
  warn_of_clock(uncertainty.energy, result);
  result.uncertainty = std::move(uncertainty);
}

// ---- Reads counters and the files beside a recording.

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

// Of W&B, in the folder of a run.
constexpr const char* kTrackersFile = "wandb-metadata.json";

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
  const std::string metadata = beside(recording.path(), kTrackersFile);
  if (models.empty() && is_regular_file(metadata)) {
    models = models_in(read_up_to(*OpenedFile(metadata).source(), kHeadBytes));
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
  auto files = mapped<std::string>(kModelFiles, [&](const ModelFile& file) {
    return beside(recording, plain_stem(recording) + file.end);
  });
  files.push_back(beside(recording, kTrackersFile));
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

// ---- Finds the model, and asks the table of sensors.

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
