// Says where the load of a window is instead.
#include "energy/zones/window_doubts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "energy/sensors/averaged_readings.h"
#include "energy/zones/load_place.h"

namespace aggregate_power::energy {
namespace {

std::string later_or_earlier(double offset_s) {
  return fmt::format("{:.1f} s {}", std::abs(offset_s), offset_s > 0 ? "later" : "earlier");
}

std::string others_text(const LoadElsewhere& load) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(load.others_s.size(), kMostNamed); ++i) {
    text += fmt::format(", or {}", later_or_earlier(load.others_s[i]));
  }
  return text;
}

std::string remedy_text(const ClockRemedy& clock, double ahead_s) {
  if (!clock.is_possible) return "";
  return fmt::format("; {} moves the recording", clock_option(clock, ahead_s));
}

std::string outside_text(const LoadElsewhere& load, Window window, const ClockRemedy& clock) {
  const std::string where = fmt::format(
      "the window, {:.1f} s, is idle ({:.0f} W of all GPUs); a load of {:.1f} s ({:.0f} W) is {}{}",
      window.duration_s(), load.window_w, load.length_s, load.load_w,
      later_or_earlier(load.offset_s), others_text(load));
  if (!load.is_by_quarter_hours()) {
    return fmt::format("{}: not a whole number of quarter hours, so a clock is wrong{}", where,
                       remedy_text(clock, load.offset_s));
  }
  const double zone_s = std::round(load.offset_s / kZoneStep_s) * kZoneStep_s;
  const std::string remedy =
      clock.is_possible
          ? fmt::format("; give --timezone, or {} moves the recording", clock_option(clock, zone_s))
          : std::string();
  return fmt::format("{}: {:+.0f} quarter hours, so a time zone is wrong{}", where,
                     load.offset_s / kZoneStep_s, remedy);
}

std::string overlap_text(const LoadElsewhere& load, bool is_certain, const ClockRemedy& clock) {
  return fmt::format("power rises and falls {} than the window begins and ends: a clock {} wrong{}",
                     later_or_earlier(load.offset_s), is_certain ? "is" : "may be",
                     remedy_text(clock, load.offset_s));
}

std::string cut_text(const LoadElsewhere& load, bool is_certain, const ClockRemedy& clock) {
  const std::string_view what =
      load.offset_s > 0 ? "power is idle at the window's start, and the load goes on after its end"
                        : "the load began before the window, and power is idle at the window's end";
  return fmt::format("{}: it fits {}{}: a clock {} wrong{}", what, later_or_earlier(load.offset_s),
                     others_text(load), is_certain ? "is" : "may be",
                     remedy_text(clock, load.offset_s));
}

std::string alike_text(const LoadElsewhere& load, const ClockRemedy& clock) {
  return fmt::format(
      "a load as long as the window, {:.1f} s, is {}{}, and power rises and falls with it more exactly than with the window{}",
      load.length_s, later_or_earlier(load.offset_s), others_text(load),
      clock.is_possible ? fmt::format(": if a clock is wrong, {} moves the recording",
                                      clock_option(clock, load.offset_s))
                        : std::string());
}

std::string idle_text(const LoadElsewhere& load) {
  return fmt::format(
      "the window is idle ({:.0f} W of all GPUs), and the recording has loads elsewhere (up to {:.0f} W): if one is the run's, a clock or a time zone is wrong",
      load.window_w, load.load_w);
}

void add_doubt(const LoadElsewhere& load, bool is_certain, Window window, const ClockRemedy& clock,
               Reasons& reasons) {
  using Kind = LoadElsewhere::Kind;
  switch (load.kind) {
    case Kind::window_idle:
      return reasons.add(Reason::load_outside_window, outside_text(load, window, clock));
    case Kind::only_idle:
      return reasons.add(Reason::load_outside_window, idle_text(load));
    case Kind::overlaps:
    case Kind::nearby:
      return reasons.add(Reason::clock_offset_suspected, overlap_text(load, is_certain, clock));
    case Kind::cut:
    case Kind::cut_a_little:
      return reasons.add(Reason::clock_offset_suspected, cut_text(load, is_certain, clock));
    case Kind::alike:
      return reasons.add(Reason::clock_offset_suspected, alike_text(load, clock));
  }
}

// A window that was estimated has no evidence but the power.
bool is_certain(const LoadElsewhere& load, const std::optional<PlaceSlack>& slack) {
  if (!slack) return load.is_certain();
  constexpr double kShown_s = 2;  // power may show a load so much earlier or later
  const bool is_possible =
      load.offset_s >= -slack->earlier_s - kShown_s && load.offset_s <= slack->later_s + kShown_s;
  return !is_possible && (load.is_certain() || load.kind == LoadElsewhere::Kind::nearby);
}

// ---- Averages

struct AveragedGpus {
  AveragedReadings readings;
  double energy_j = 0;  // of these GPUs in the window
  bool is_certain() const {
    constexpr double kMuch = 0.025;
    return readings.falls_later && readings.are_smooth && readings.missing_j > kMuch * energy_j;
  }
};

double joules_in(std::span<const Sample> samples, Window window) {
  const std::span<const Sample> inside = samples_in(samples, window);
  return window.duration_s() * summed(inside, &Sample::watts) /
         static_cast<double>(std::max<std::size_t>(inside.size(), 1));
}

// Of GPUs that nearly all rise slowly with the window and fall after it.
std::optional<AveragedGpus> averaged_gpus(std::span<const std::span<const Sample>> gpus,
                                          Window window) {
  constexpr double kNearlyAll = 0.75;
  constexpr double kLittle = 0.01;  // of the energy
  AveragedGpus found;
  double edges = 0;
  double averaged = 0;
  for (const std::span<const Sample> samples : gpus) {
    const AveragedEdges own = averaged_edges(samples, window);
    edges += own.has_edge ? 1 : 0;
    if (!own.readings) continue;
    ++averaged;
    found.readings.over_s += own.readings->over_s;
    found.readings.missing_j += own.readings->missing_j;
    found.readings.falls_later &= own.readings->falls_later;
    found.readings.are_smooth &= own.readings->are_smooth;
    found.energy_j += joules_in(samples, window);
  }
  const bool is_little =
      found.readings.falls_later && found.readings.missing_j <= kLittle * found.energy_j;
  if (averaged == 0 || averaged < kNearlyAll * edges || is_little) return std::nullopt;
  found.readings.over_s /= averaged;
  // The power that many boards state is the mean of 1 s, whatever the sampling.
  constexpr double kLongestOfSensor_s = 1.5;
  if (found.readings.over_s <= kLongestOfSensor_s) return std::nullopt;
  return found;
}

std::string averaged_text(const AveragedGpus& gpus) {
  if (!gpus.readings.falls_later) {
    return fmt::format(
        "power rises on a straight line through the whole window, and goes on after its end: the readings may be means over {:.0f} s or more, as of avg_over_time, and much less than the load's power",
        gpus.readings.over_s);
  }
  return fmt::format(
      "power rises slowly from the window's start, and falls as slowly after its end: the readings {} means over about {:.2g} s, as of avg_over_time or a slow sensor, and {:.2g} % of their energy is read after the window",
      gpus.is_certain() ? "are" : "may be", gpus.readings.over_s,
      100 * gpus.readings.missing_j / gpus.energy_j);
}

}  // namespace

std::string clock_option(const ClockRemedy& clock, double ahead_s) {
  const double seconds = std::round((clock.offset_s - ahead_s) * 10) / 10;
  const std::string host = clock.host.empty() ? "" : printable(clock.host) + "=";
  return "--clock-offset " + shell_word(fmt::format("{}{:.6g}", host, seconds));
}

WindowDoubts window_doubts(std::span<const std::span<const Sample>> gpus, Window window,
                           const ClockRemedy& clock, const std::optional<PlaceSlack>& slack) {
  WindowDoubts doubts;
  if (const auto averaged = averaged_gpus(gpus, window)) {
    (averaged->is_certain() ? doubts.certain : doubts.possible)
        .add(Reason::readings_repeat, averaged_text(*averaged));
  } else if (const auto load = load_elsewhere(gpus, window)) {
    const bool is_sure = is_certain(*load, slack);
    add_doubt(*load, is_sure, window, clock, is_sure ? doubts.certain : doubts.possible);
  }
  return doubts;
}

WindowDoubts window_doubts(const Samples& samples, Window window, const ClockRemedy& clock,
                           const std::optional<PlaceSlack>& slack) {
  std::vector<std::span<const Sample>> gpus;
  for (const std::vector<Sample>& device : samples.devices()) {
    if (!device.empty()) gpus.emplace_back(device);
  }
  return window_doubts(gpus, window, clock, slack);
}

}  // namespace aggregate_power::energy
