// Reads energy counters, and compares them with integrated power.
#include "runs/evaluate/counters.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "core/telemetry/gpu_identity.h"
#include "runs/evaluate/evaluate.h"

namespace aggregate_power {
namespace {

// What is before and after the window shows the counter's usual steps.
constexpr double kAroundS = 60;

Window around(Window window) {
  return {window.start_unix_s - kAroundS, window.end_unix_s + kAroundS};
}

void take_counters(std::span<const Reading> readings, Window window,
                   std::vector<GatheredCounter>& gathered) {
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::power || !window.contains(reading.unix_s)) continue;
    if (reading.device >= gathered.size()) gathered.resize(reading.device + 1);
    GatheredCounter& counter = gathered[reading.device];
    counter.is_sorted = counter.is_sorted && counter.last_unix_s <= reading.unix_s;
    counter.last_unix_s = reading.unix_s;
    counter.samples.push_back({reading.unix_s, reading.watts});
  }
}

CountersRead counters_of(const EnergyCounter& counter, std::span<const std::string> devices,
                         std::vector<GatheredCounter> gathered) {
  CountersRead read{counter, {}};
  for (std::uint32_t i = 0; i < gathered.size(); ++i) {
    std::vector<CounterSample>& samples = gathered[i].samples;
    if (samples.empty()) continue;
    if (!gathered[i].is_sorted) std::ranges::stable_sort(samples, {}, &CounterSample::unix_s);
    read.devices.push_back(
        {devices[i], counter.unit_j, counter.is_unit_stated, std::move(samples)});
  }
  return read;
}

CountersRead read_all_counters(const Recording& recording, Window within, bool may_use_threads) {
  Telemetry telemetry = recording.open_counters();
  if (!telemetry.facts().has_times()) return {};
  if (may_use_threads) telemetry.use_workers(workers_for(recording));
  std::vector<GatheredCounter> gathered;
  telemetry.read(
      [&](std::span<const Reading> readings) { take_counters(readings, within, gathered); });
  if (!telemetry.counter()) return {};
  if (const auto conflicts = telemetry.identity_conflicts(); !conflicts.empty()) {
    throw TelemetryError(fmt::format("{}: {}: {}", printable_path(recording.path()),
                                     code(Reason::gpu_identity_conflict), conflicts.front()));
  }
  if (const auto* const fault = recording.needed_zone_fault(telemetry)) {
    throw TelemetryError(fault->text);
  }
  return counters_of(*telemetry.counter(), telemetry.devices(), std::move(gathered));
}

// Sets the unit that the GPUs' power shows. Returns false if it shows none.
bool set_unit_by_values(CountersRead& read, const Integration& integration, Window window) {
  double counts = 0;
  double power_j = 0;
  for (std::size_t i = 0; i < integration.gpu_ids.size(); ++i) {
    const auto device =
        std::ranges::find(read.devices, integration.gpu_ids[i], &DeviceCounter::device);
    if (device == read.devices.end() || integration.issues[i]) continue;
    counts += rise_in(device->samples, window);
    power_j += integration.gpus[i].energy_j;
  }
  const auto unit = unit_by_values(counts, power_j);
  if (!unit) return false;
  read.counter->unit = fmt::format("{}, by the power", unit->symbol);
  read.counter->unit_j = unit->joules;
  for (DeviceCounter& device : read.devices) set_unit(*unit, device);
  return true;
}

CounterInWindow compared(const std::string& gpu, const CounterTrace& trace, Window window,
                         std::optional<double> power_j, double max_sample_gap_s) {
  CounterInWindow found{.gpu = gpu, .fault = trace.fault(window, max_sample_gap_s)};
  found.power_j = power_j;
  if (!trace.fault().empty()) return found;
  found.readings = trace.readings(window);
  if (!found.fault.empty()) return found;
  found.counter_j = trace.energy_j(window);
  found.resolution_j = trace.resolution_j(window);
  found.differs = power_j && contradict(*found.counter_j, *power_j, *found.resolution_j);
  return found;
}

}  // namespace

void set_unit(const CounterUnit& unit, DeviceCounter& device) {
  device.unit_j = unit.joules;
  for (CounterSample& sample : device.samples) sample.joules *= unit.joules;
}

std::vector<DeviceCounter> read_counters(const Recording& recording, Window within) {
  return read_all_counters(recording, within, false).devices;
}

CounterGatherer::CounterGatherer(Window window)
    : within_(around(window)), stream_{[this](std::span<const Reading> readings) {
        take_counters(readings, within_, gathered_);
      }} {}

std::optional<CountersRead> CounterGatherer::finish() {
  const TelemetryCounts& counts = stream_.counts;
  // The zone of stamps without an offset is checked where the counters are read alone.
  if (!counts.counter || counts.naive_stamps > 0) return std::nullopt;
  return counters_of(*counts.counter, counts.devices, std::move(gathered_));
}

std::optional<RecordedCounters> counters_in(const Recording& recording, Window window,
                                            const Integration& integration, double max_sample_gap_s,
                                            bool may_use_threads,
                                            std::optional<CountersRead> read) {
  try {
    if (!read) read = read_all_counters(recording, around(window), may_use_threads);
  } catch (const std::exception&) {  // it changed, or its end is broken: the run's record says so
    return std::nullopt;
  }
  if (read->devices.empty()) return std::nullopt;
  if (!read->counter->is_unit_stated && !set_unit_by_values(*read, integration, window)) {
    return std::nullopt;
  }
  std::map<std::string_view, DeviceCounter*> by_name;
  for (DeviceCounter& device : read->devices) by_name[device.device] = &device;
  RecordedCounters recorded{*read->counter, {}};
  recorded.gpus.resize(integration.gpu_ids.size());
  const std::size_t most = may_use_threads ? workers_for(recording).count : 1;
  in_parallel(recorded.gpus.size(), most, [&](std::size_t i) {
    const std::string& gpu = integration.gpu_ids[i];
    const auto found = by_name.find(gpu);
    if (found == by_name.end()) {
      recorded.gpus[i] = {.gpu = gpu, .fault = "its energy counter was not read"};
      return;
    }
    DeviceCounter& device = *found->second;
    const CounterTrace trace(std::move(device.samples), device.unit_j, nullptr);
    const auto power_j =
        integration.issues[i] ? std::nullopt : std::optional(integration.gpus[i].energy_j);
    recorded.gpus[i] = compared(gpu, trace, window, power_j, max_sample_gap_s);
  });
  return recorded;
}

namespace {

std::string difference_text(const CounterInWindow& gpu) {
  return fmt::format(
      "GPU {}: in the window its energy counter says {:.3f} J, its power {:.3f} J ({:+.1f} %)",
      printable(gpu.gpu), *gpu.counter_j, *gpu.power_j, 100 * (*gpu.counter_j / *gpu.power_j - 1));
}

// What is likely wrong where the power is the counter's energy times a power of ten.
std::string unit_text(const CounterInWindow& gpu, PowerUnit::Size read_as) {
  const double factor = *gpu.power_j / *gpu.counter_j;
  const double exponent = std::round(std::log10(factor));
  const double power_of_ten = std::pow(10, exponent);
  if (exponent == 0 || std::abs(factor / power_of_ten - 1) > kCounterLimit) return {};
  for (const PowerUnit::Size size :
       {PowerUnit::Size::kilowatt, PowerUnit::Size::watt, PowerUnit::Size::milliwatt}) {
    const double scaled = in_watts(1, size) / in_watts(1, read_as) * power_of_ten;
    if (std::abs(scaled - 1) > kCounterTolerance) continue;
    return fmt::format(": the power is in {}? pass --power-unit {}", unit_word(size),
                       unit_symbol(size));
  }
  return fmt::format(": one of them is in another unit, by a factor of {:g}", power_of_ten);
}

}  // namespace

bool is_of_module(const SeriesFacts& series) {
  return std::ranges::any_of(series.gpu_models, is_module_gpu);
}

std::vector<std::size_t> contradictions(const RecordedCounters& counters, const SeriesFacts& series,
                                        Window window) {
  double total_j = 0;
  for (const CounterInWindow& gpu : counters.gpus) total_j += gpu.power_j.value_or(0);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < counters.gpus.size(); ++i) {
    const CounterInWindow& gpu = counters.gpus[i];
    if (!gpu.counter_j || !gpu.power_j || !gpu.resolution_j) continue;
    if (!refutes(*gpu.counter_j, *gpu.power_j, *gpu.resolution_j, window.duration_s())) continue;
    const bool may_have_more = *gpu.counter_j > *gpu.power_j;
    const bool is_of_all = std::abs(*gpu.counter_j / total_j - 1) <= kCounterLimit;
    if (may_have_more && (is_of_all || is_of_module(series))) continue;
    found.push_back(i);
  }
  return found;
}

namespace {

// Under schema 1 no GPU has an energy of its own: all are compared together.
void compare_mean_power(const MeasurementRequest& request, const Recording& recording,
                        Window window, Measurement& measurement) {
  const MeanPower& mean = *measurement.mean_power;
  Integration each = measurement.integration;
  each.issues.resize(each.gpu_ids.size());
  each.gpus.resize(each.gpu_ids.size());
  for (DeviceEnergy& gpu : each.gpus) gpu.energy_j = mean.avg_power_w * window.duration_s();
  const auto counters =
      counters_in(recording, window, each, request.max_sample_gap_s, request.may_use_threads);
  if (!counters) return;
  CounterInWindow all = {.gpu = {}, .counter_j = 0, .power_j = 0, .resolution_j = 0};
  for (const CounterInWindow& gpu : counters->gpus) {
    if (!gpu.counter_j || !gpu.power_j || !gpu.resolution_j) return;
    *all.counter_j += *gpu.counter_j;
    *all.power_j += *gpu.power_j;
    *all.resolution_j += *gpu.resolution_j;
  }
  const SeriesFacts& series = measurement.telemetry->series;
  if (contradictions({counters->counter, {all}}, series, window).empty()) return;
  measurement.series_doubts.add(
      Reason::counter_contradicts,
      fmt::format("in the window the energy counters of all GPUs say {:.3f} J, the power {:.3f} J",
                  *all.counter_j, *all.power_j));
}

}  // namespace

std::optional<RecordedCounters> compare_with_counters(const MeasurementRequest& request,
                                                      const Recording& recording, Window window,
                                                      Measurement& measurement) {
  Integration& integration = measurement.integration;
  if (measurement.mean_power && measurement.telemetry && measurement.telemetry->series.counter) {
    compare_mean_power(request, recording, window, measurement);
  }
  if (!measurement.telemetry || !measurement.telemetry->series.counter ||
      integration.gpus.empty()) {
    return std::nullopt;
  }
  const SeriesFacts& series = measurement.telemetry->series;
  auto counters = counters_in(recording, window, integration, request.max_sample_gap_s,
                              request.may_use_threads, std::move(measurement.counters));
  if (!counters) return std::nullopt;
  for (const std::size_t i : contradictions(*counters, series, window)) {
    const CounterInWindow& gpu = counters->gpus[i];
    integration.reasons.add(Reason::counter_contradicts,
                            difference_text(gpu) + unit_text(gpu, series.unit));
    if (!integration.issues[i]) integration.issues[i] = Reason::counter_contradicts;
  }
  return counters;
}

std::vector<std::string> doubts_about(const RecordedCounters& counters) {
  std::vector<std::string> doubts;
  for (const CounterInWindow& gpu : counters.gpus) {
    if (gpu.differs) doubts.push_back("counter_differs: " + difference_text(gpu));
  }
  return doubts;
}

}  // namespace aggregate_power
