// Reads energy counters, and compares them with integrated power.
#include "runs/counters.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/parallel.h"
#include "base/text/unicode.h"
#include "energy/counter_trace.h"

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
    read.devices.push_back({devices[i], counter.unit_j, std::move(samples)});
  }
  return read;
}

CountersRead read_all_counters(const Recording& recording, Window within, bool may_use_threads) {
  Telemetry telemetry = recording.open_counters();
  if (!telemetry.facts().has_times()) return {};
  if (may_use_threads && gains_by_threads(recording)) telemetry.use_threads();
  std::vector<GatheredCounter> gathered;
  telemetry.read(
      [&](std::span<const Reading> readings) { take_counters(readings, within, gathered); });
  if (!telemetry.counter()) return {};
  if (const auto* const fault = recording.needed_zone_fault(telemetry)) {
    throw TelemetryError(fault->text);
  }
  return counters_of(*telemetry.counter(), telemetry.devices(), std::move(gathered));
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
  std::map<std::string_view, DeviceCounter*> by_name;
  for (DeviceCounter& device : read->devices) by_name[device.device] = &device;
  RecordedCounters recorded{*read->counter, {}};
  recorded.gpus.resize(integration.gpu_ids.size());
  const bool gains = may_use_threads && gains_by_threads(recording);
  in_parallel(recorded.gpus.size(), gains ? usable_processors() : 1, [&](std::size_t i) {
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

std::vector<std::string> doubts_about(const RecordedCounters& counters) {
  std::vector<std::string> doubts;
  for (const CounterInWindow& gpu : counters.gpus) {
    if (!gpu.differs) continue;
    doubts.push_back(fmt::format(
        "counter_differs: GPU {}: in the window its energy counter says {:.3f} J, its power {:.3f} J ({:+.1f} %)",
        printable(gpu.gpu), *gpu.counter_j, *gpu.power_j,
        100 * (*gpu.counter_j / *gpu.power_j - 1)));
  }
  return doubts;
}

}  // namespace aggregate_power
