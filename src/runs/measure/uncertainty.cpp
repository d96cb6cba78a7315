// Finds the sensor of each GPU, and asks for the estimate.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/assumption.h"
#include "aggregate_power/gpus_option.h"
#include "core/model/refusal.h"
#include "base/system/parallel.h"
#include "base/text/suggest.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/sensor_table.h"
#include "core/telemetry/power_limits.h"
#include "runs/measure/extras.h"
#include "runs/measure/understood_sensor.h"

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
    building.verdicts.push_back(
        {"second_die", {gpu.gpu}, "0 W throughout: the other die's sensor counts both"});
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
      printable(fmt::format("{}", fmt::join(zeros, ", ")), 200), gpus_option(others))};
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
  const UncertaintyOptions& options = input.run.uncertainty;
  std::vector<SensorReadings>& recordings = input.recordings;
  Building building{options, input.hardware, {}, {}, {}, {}};
  building.question.window = result.load->window;
  building.question.accuracy = sensor_accuracy(options.sensor_accuracy);
  building.question.place_half_width_s = result.window_half_width_s.value_or(0);
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
  std::ranges::move(building.verdicts, std::back_inserter(uncertainty.energy.verdicts));
  return std::move(uncertainty);
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
  result.uncertainty = std::move(uncertainty);
}

}  // namespace aggregate_power
