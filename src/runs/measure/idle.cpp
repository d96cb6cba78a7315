// Reads what --idle says, and finds the readings that it is about.

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/gpu.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "core/model/code_descriptions.h"
#include "energy/shares/idle.h"
#include "generators/windows_file.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/extras.h"

namespace aggregate_power {
namespace {

// A plateau that is higher than this times another steady power near the load is another load's.
constexpr double kMostAboveIdle = 1.25;
constexpr double kLeastAboveIdle_w = 5;  // small GPUs differ by this when they have nothing to do

constexpr std::string_view kAutomatic = "auto";
constexpr const char* kPowerNotValid = "power_not_valid";

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

// Each colon may be the one between both times. Nullopt: there are none.
std::optional<Window> given_stretch(std::string_view text, Window recorded) {
  const WindowsFileOptions options{recorded};
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    try {
      return Window{instant_in(text.substr(0, at), options),
                    instant_in(text.substr(at + 1), options)};
    } catch (const Error&) {  // a colon within a time
    }
  }
  return std::nullopt;
}

// The GPUs whose energy was published, recording by recording.
std::vector<std::string> names_of(std::span<const SensorReadings> recordings) {
  std::vector<std::string> names;
  for (const SensorReadings& recording : recordings) {
    std::vector<std::string> own;
    for (const auto& [gpu, joules] : recording.published_j) own.push_back(gpu);
    std::ranges::sort(own, device_name_less);
    append(names, std::move(own));
  }
  return names;
}

// In the same order. One without readings has none: a reading of 0 W outside the window is of a GPU
// that is set up or torn down.
std::vector<IdleGpu> idle_gpus(std::span<const SensorReadings> recordings, Window window) {
  std::vector<IdleGpu> gpus;
  for (const SensorReadings& recording : recordings) {
    for (const std::string& name : names_of({&recording, 1})) {
      IdleGpu& one = gpus.emplace_back();
      one.load_w = recording.published_j.at(name) / window.duration_s();
      const auto found = std::ranges::find(recording.gpus, name, &GatheredReadings::gpu);
      if (found == recording.gpus.end()) continue;
      std::ranges::copy_if(found->samples, std::back_inserter(one.samples),
                           [](const Sample& sample) { return sample.watts > 0; });
      std::ranges::stable_sort(one.samples, {}, &Sample::unix_s);
    }
  }
  return gpus;
}

void set_means(const std::optional<IdleMeans>& means, const std::vector<std::string>& names,
               IdlePower& idle) {
  if (!means) {
    idle.reasons = {no_idle("too_few_readings")};
    return;
  }
  for (std::size_t i = 0; i < means->gpus.size(); ++i) {
    idle.gpus.emplace_back(names[i], means->gpus[i]);
  }
  idle.total = means->total;
}

// By how much a plateau is far above the least power at which a GPU was steady: it is another
// job's, a warm-up, or a server that is busy. Nullopt: it is not.
std::optional<double> above_idle_w(const IdleGpu& gpu, Window window, double plateau_w) {
  const auto least_w = least_steady_w(gpu, window);
  if (!least_w || plateau_w <= std::max(kMostAboveIdle * *least_w, *least_w + kLeastAboveIdle_w)) {
    return std::nullopt;
  }
  return plateau_w - *least_w;
}

bool is_other_load(const std::vector<IdleGpu>& gpus, Window window, const IdlePower& idle) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (above_idle_w(gpus[i], window, idle.gpus[i].second.watts)) return true;
  }
  return false;
}

// All readings of a recording, of the GPUs whose energy was published.
SensorReadings all_readings(const Recording& recording, const SensorReadings& published,
                            RowExtent& extent) {
  Samples samples(kAlways);
  const Telemetry telemetry = read_whole(recording, {.take = [&](const Batch& batch) {
                                           extent.take(batch.readings);
                                           samples.take(batch.readings);
                                         }});
  samples.sort();
  SensorReadings all;
  all.published_j = published.published_j;
  for (std::size_t i = 0; i < samples.devices().size(); ++i) {
    all.gpus.push_back(
        {.gpu = telemetry.devices()[i], .samples = samples.devices()[i], .conditions = {}});
  }
  return all;
}

// Far from the load, a GPU may draw less because no model is loaded. Much less, and the plateau is
// another job's.
void compare_with_whole(const ExtraInput& input, Window window, IdlePower& idle,
                        std::vector<std::string>& warnings) {
  constexpr double kSomeOfLoad = 0.15;  // which a loaded model may draw, and warns
  constexpr double kMuchOfLoad = 0.3;
  RowExtent extent;
  const SensorReadings all = all_readings(*input.recording, input.recordings[0], extent);
  const std::vector<IdleGpu> gpus = idle_gpus({&all, 1}, window);
  std::string warning;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto& [name, plateau] = idle.gpus[i];
    const auto above_w = above_idle_w(gpus[i], window, plateau.watts);
    if (!above_w) continue;
    const double least_w = plateau.watts - *above_w;
    const double load_w = gpus[i].load_w - least_w;
    if (*above_w <= kSomeOfLoad * load_w) continue;
    if (*above_w > kMuchOfLoad * load_w) {
      idle = {{no_idle("other_load")}, {}, {}, {}, {}};
      return;
    }
    warning = fmt::format(
        "idle power: GPU {} draws {:.0f} W beside the load, and was steady at {:.0f} W elsewhere in the recording: if another job ran beside the load, give --idle START:END",
        printable(name), plateau.watts, least_w);
  }
  if (!warning.empty()) warnings.push_back(std::move(warning));
}

IdlePower found_beside_load(const RunOptions& run, std::span<const SensorReadings> recordings,
                            Window window) {
  const std::vector<IdleGpu> gpus = idle_gpus(recordings, window);
  const auto idle_in = [&](const char* source, std::optional<Window> stretch) {
    IdlePower idle;
    idle.source = source;
    idle.stretch = stretch;
    if (stretch) {
      set_means(idle_means(gpus, *stretch, run.max_sample_gap_s), names_of(recordings), idle);
    }
    return idle;
  };
  // The nearest plateau that is idle: plateaus of other loads are passed over.
  bool has_other_load = false;
  const auto nearest = [&](const char* source, const auto& find) {
    for (Window beyond = window;;) {
      IdlePower idle = idle_in(source, find(gpus, beyond, run.max_sample_gap_s));
      const bool is_plateau = idle.stretch && idle.is_available();
      if (!is_plateau || !is_other_load(gpus, window, idle)) return idle;
      has_other_load = true;
      beyond = {std::min(beyond.start_unix_s, idle.stretch->start_unix_s),
                std::max(beyond.end_unix_s, idle.stretch->end_unix_s)};
    }
  };
  IdlePower before = nearest("before_load", idle_before);
  IdlePower after = nearest("after_load", idle_after);
  if (!before.stretch && !after.stretch) {
    return {{no_idle(has_other_load ? "other_load" : "no_plateau")}, {}, {}, {}, {}};
  }
  const bool is_lower_after = before.stretch && after.stretch && after.is_available() &&
                              before.total.watts > kMostAboveIdle * after.total.watts;
  return before.stretch && !is_lower_after ? before : after;
}

IdlePower of_given_watts(Power each, const std::vector<std::string>& names) {
  IdlePower idle;
  idle.source = "given_watts";
  for (const std::string& name : names) idle.gpus.emplace_back(name, each);
  const auto count = static_cast<double>(names.size());
  idle.total = {each.watts * count, each.standard_uncertainty_w * count};
  return idle;
}

IdlePower of_given_stretch(const RunOptions& run, const Recording& recording,
                           const SensorReadings& readings, Window window) {
  IdlePower idle;
  idle.source = "given_window";
  RowExtent extent;
  const SensorReadings all = all_readings(recording, readings, extent);
  const auto [first_unix_s, last_unix_s] = extent.span();
  if (last_unix_s < first_unix_s) throw Error("it has no readings");
  const Window stretch = given_stretch(run.idle, {first_unix_s, last_unix_s}).value();
  idle.stretch = stretch;
  if (stretch.start_unix_s >= stretch.end_unix_s) {
    idle.reasons = {no_idle("ends_before_it_begins")};
  } else if (stretch.start_unix_s < window.end_unix_s && stretch.end_unix_s > window.start_unix_s) {
    idle.reasons = {no_idle("overlaps_load")};
  } else {
    set_means(idle_means(idle_gpus({&all, 1}, window), stretch, run.max_sample_gap_s),
              names_of({&all, 1}), idle);
  }
  return idle;
}

IdlePower idle_power(const RunOptions& run, const Recording* recording,
                     std::span<const SensorReadings> recordings, Window window) {
  if (run.idle == kAutomatic) return found_beside_load(run, recordings, window);
  if (const auto each = given_power(run.idle)) return of_given_watts(*each, names_of(recordings));
  if (recording == nullptr) throw Error("a stretch is of one recording");
  return of_given_stretch(run, *recording, recordings[0], window);
}

void set_refusal(const std::string& reason, Result& result) {
  result.idle = {{no_idle(reason)}, {}, {}, {}, {}};
  if (reason == kPowerNotValid) return;  // the run's own reasons say more
  result.warnings.push_back(
      fmt::format("no net energy: {}: {}", reason, word_in(idle_refusals(), reason)->remedy));
}

}  // namespace

std::string idle_fault(const std::string& text) {
  if (text == kAutomatic || given_power(text) || given_stretch(text, {})) return {};
  return fmt::format(
      "expected auto, watts above 0 such as 85 or 85+-3, or START:END, each a Unix time, ISO 8601 with Z or an offset, +SECONDS after the recording's start or -SECONDS before its end; got '{}'",
      printable(text));
}

void refuse_idle_stretch(const std::string& text, const std::string& why) {
  if (text.empty() || text == kAutomatic || given_power(text)) return;
  throw Error(fmt::format(
      "--idle: expected auto, or watts above 0 such as 85 or 85+-3: START:END {}; got '{}'", why,
      printable(text)));
}

void refuse_idle(const RunOptions& run, Result& result) {
  if (!run.idle.empty()) set_refusal(kPowerNotValid, result);
}

void refuse_idle_of_package(const RunOptions& run, Result& result) {
  if (!run.idle.empty()) set_refusal("not_for_packages", result);
}

void add_idle(ExtraInput& input, Result& result) {
  if (input.run.idle.empty()) return;
  set_refusal(kPowerNotValid, result);
  if (!result.is_valid() || !result.load) return;
  IdlePower idle;
  try {
    const Window window = result.load->window;
    idle = idle_power(input.run, input.recording, input.recordings, window);
    if (input.run.idle == kAutomatic && input.recording != nullptr && idle.is_available()) {
      compare_with_whole(input, window, idle, result.warnings);
    }
  } catch (const std::exception&) {  // it has changed since it was measured
    idle.reasons = {no_idle("recording_changed")};
  }
  const double load_w =
      value_of(result.metrics, "total_gpu_energy_j").value_or(0) / result.load->window.duration_s();
  if (idle.is_available() && !(idle.total.watts < load_w)) {
    idle.reasons = {no_idle("idle_not_below_load")};
  }
  if (!idle.is_available()) set_refusal(idle.reasons[0], result);
  result.idle = std::move(idle);
}

}  // namespace aggregate_power
