// Reads what --idle says, and finds the readings that it is about.
#include "runs/idle.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "energy/idle_power.h"
#include "loads/windows_file.h"
#include "runs/explain.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kAutomatic = "auto";

std::optional<double> finite_number(std::string_view text) {
  const auto number = python_float(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// "85", "85+-3", "85±3"; nullopt: it is something else.
std::optional<Power> given_power(std::string_view text) {
  std::string_view watts = text;
  Power power;
  for (const std::string_view sign : {"+-", "±"}) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    const auto spread_w = finite_number(text.substr(at + sign.size()));
    if (!spread_w || *spread_w < 0) return std::nullopt;
    power.standard_uncertainty_w = *spread_w;
    watts = text.substr(0, at);
  }
  const auto level_w = finite_number(watts);
  if (!level_w || *level_w <= 0) return std::nullopt;
  power.watts = *level_w;
  return power;
}

// Each colon may be the one between both times.
Window given_stretch(std::string_view text, Window recorded) {
  const WindowsFileOptions options{recorded};
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    try {
      return {instant_in(text.substr(0, at), options), instant_in(text.substr(at + 1), options)};
    } catch (const Error&) {  // a colon within a time
    }
  }
  throw Error(fmt::format(
      "--idle: expected auto, watts above 0 such as 85 or 85+-3, or START:END, each a Unix time, ISO 8601 with Z or an offset, +SECONDS after the recording's start or -SECONDS before its end; got '{}'",
      printable(text)));
}

bool is_idle_reading(const Reading& reading) {
  return reading.kind == Reading::Kind::power && reading.watts > 0;
}

// Throws what reading throws.
Window recorded_in(const Recording& recording) {
  const std::optional<Span> extent = extent_of(recording);
  if (!extent) throw Error("it has no readings");
  return {extent->first_unix_s, extent->last_unix_s};
}

std::vector<GatheredReadings> readings_in(const Recording& recording, Window stretch) {
  std::vector<GatheredReadings> gpus;
  Telemetry telemetry = recording.open();
  telemetry.read([&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) {
      if (!is_idle_reading(reading) || !stretch.contains(reading.unix_s)) continue;
      if (reading.device >= gpus.size()) gpus.resize(reading.device + 1);
      gpus[reading.device].samples.push_back({reading.unix_s, reading.watts});
    }
  });
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].gpu = telemetry.devices()[i];
  return gpus;
}

// In the order of the result's GPUs. One without readings has none: a reading of 0 W outside the
// window is of a GPU that is set up or torn down.
std::vector<IdleGpu> idle_gpus(std::span<const GatheredReadings> gathered, const Result& result) {
  std::vector<IdleGpu> gpus;
  for (const GpuResult& gpu : result.gpus) {
    IdleGpu& one = gpus.emplace_back();
    one.load_w = gpu.energy.energy_j / result.load->window.duration_s();
    const auto found = std::ranges::find(gathered, gpu.name, &GatheredReadings::gpu);
    if (found == gathered.end()) continue;
    std::ranges::copy_if(found->samples, std::back_inserter(one.samples),
                         [](const Sample& sample) { return sample.watts > 0; });
    std::ranges::stable_sort(one.samples, {}, &Sample::unix_s);
  }
  return gpus;
}

void set_means(const std::optional<IdleMeans>& means, const Result& result, IdlePower& idle) {
  if (!means) {
    idle.reasons = {"too_few_readings"};
    return;
  }
  for (std::size_t i = 0; i < means->gpus.size(); ++i) {
    idle.gpus.emplace_back(result.gpus[i].name, means->gpus[i]);
  }
  idle.total = means->total;
}

IdlePower found_beside_load(const RunOptions& run, std::span<const GatheredReadings> gathered,
                            const Result& result) {
  const std::vector<IdleGpu> gpus = idle_gpus(gathered, result);
  const Window window = result.load->window;
  IdlePower idle;
  idle.source = "before_load";
  idle.stretch = idle_before(gpus, window, run.max_sample_gap_s);
  if (!idle.stretch) {
    idle.source = "after_load";
    idle.stretch = idle_after(gpus, window, run.max_sample_gap_s);
  }
  if (!idle.stretch) return {{"no_plateau"}, {}, {}, {}, {}};
  set_means(idle_means(gpus, *idle.stretch, run.max_sample_gap_s), result, idle);
  return idle;
}

IdlePower of_given_watts(Power each, const Result& result) {
  IdlePower idle;
  idle.source = "given_watts";
  for (const GpuResult& gpu : result.gpus) idle.gpus.emplace_back(gpu.name, each);
  const auto count = static_cast<double>(result.gpus.size());
  idle.total = {each.watts * count, each.standard_uncertainty_w * count};
  return idle;
}

IdlePower of_given_stretch(const RunOptions& run, const Recording& recording,
                           const Result& result) {
  IdlePower idle;
  idle.source = "given_window";
  const Window stretch = given_stretch(run.idle, recorded_in(recording));
  idle.stretch = stretch;
  const Window window = result.load->window;
  if (stretch.start_unix_s >= stretch.end_unix_s) {
    idle.reasons = {"ends_before_it_begins"};
  } else if (stretch.start_unix_s < window.end_unix_s && stretch.end_unix_s > window.start_unix_s) {
    idle.reasons = {"overlaps_load"};
  } else {
    const auto gpus = idle_gpus(readings_in(recording, stretch), result);
    set_means(idle_means(gpus, stretch, run.max_sample_gap_s), result, idle);
  }
  return idle;
}

IdlePower idle_power(const RunOptions& run, const Recording& recording,
                     std::span<const GatheredReadings> gathered, const Result& result) {
  if (run.idle == kAutomatic) return found_beside_load(run, gathered, result);
  if (const auto each = given_power(run.idle)) return of_given_watts(*each, result);
  return of_given_stretch(run, recording, result);
}

std::string advice_on(const std::string& reason) {
  if (reason == "no_plateau") {
    return "record 15 s without load before the benchmark, or give --idle watts or a stretch";
  }
  if (reason == "too_few_readings") {
    return "the stretch needs 10 s and 10 readings of each GPU, without gaps; give another --idle";
  }
  if (reason == "idle_not_below_load")
    return "the GPUs drew no more under load; give another --idle";
  return "the stretch must begin before it ends, outside the load's window; give another --idle";
}

}  // namespace

void check_idle(const std::string& text) {
  if (text != kAutomatic && !given_power(text)) given_stretch(text, {});
}

void add_idle(const RunOptions& run, const Recording& recording,
              std::span<const GatheredReadings> gathered, Result& result) {
  IdlePower& idle = result.idle.emplace();
  if (!result.is_valid() || !result.load) {
    idle.reasons = {"power_not_valid"};
    return;
  }
  try {
    idle = idle_power(run, recording, gathered, result);
  } catch (const std::exception&) {  // it has changed since it was measured
    idle = {{"recording_changed"}, {}, {}, {}, {}};
  }
  const double load_w =
      value_of(result.metrics, "total_gpu_energy_j").value_or(0) / result.load->window.duration_s();
  if (idle.is_available() && !(idle.total.watts < load_w)) {
    idle.reasons = {"idle_not_below_load"};
  }
  if (!idle.is_available()) {
    result.warnings.push_back(
        fmt::format("no net energy: {}: {}", idle.reasons[0], advice_on(idle.reasons[0])));
  }
}

}  // namespace aggregate_power
