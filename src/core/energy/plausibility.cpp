// Limits of plausible power.
#include "core/energy/plausibility.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/facility.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"

namespace aggregate_power {
namespace {

constexpr double kLeastWatts = 1;
constexpr double kLeastUsualWatts = 30;  // of boards in servers, even idle ones
constexpr double kIdleShare = 0.4;       // of the busiest device's mean
constexpr std::size_t kMostNames = 8;

// Of several GPUs, what is said of the first one stands for all.
std::string of_first(std::string text, std::size_t gpus) {
  return gpus == 1 ? text
                   : fmt::format("{}; {} other GPUs have such readings, too", text, gpus - 1);
}

std::vector<std::string> printable_all(std::span<const std::string> names) {
  return mapped<std::string>(names, [](const std::string& name) { return printable(name); });
}

}  // namespace

std::vector<std::string> odd_samples_text(std::span<const std::string> names,
                                          std::span<const DeviceEnergy> gpus, double usual_w) {
  std::string absurd, zeros;
  std::size_t with_absurd = 0;
  std::size_t with_zeros = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const DeviceEnergy& gpu = gpus[i];
    if (gpu.highest_w > usual_w && with_absurd++ == 0) {
      absurd = fmt::format(
          "implausible_readings: GPU {} reads {:.6g} W at {}, more than {} draws; the energy includes it",
          printable(names[i]), gpu.highest_w, unix_and_iso(gpu.highest_unix_s),
          gpu.highest_w > kMostBoardWatts ? "any" : "almost any");
    }
    if (gpu.lone_zeros > 0 && with_zeros++ == 0) {
      zeros = fmt::format(
          "implausible_readings: GPU {} reads 0 W {} between readings above 15 W; the energy includes that",
          printable(names[i]),
          gpu.lone_zeros == 1 ? "once" : fmt::format("{} times", gpu.lone_zeros));
    }
  }
  std::vector<std::string> odd;
  if (with_absurd > 0) odd.push_back(of_first(std::move(absurd), with_absurd));
  if (with_zeros > 0) odd.push_back(of_first(std::move(zeros), with_zeros));
  return odd;
}

bool is_doubtful(double mean_w, double max_w, double usual_w) {
  return max_w > usual_w || mean_w < kLeastWatts;
}

std::vector<bool> idle_devices(std::span<const double> means_w) {
  std::vector<bool> is_idle;
  const double most_w = means_w.empty() ? 0 : std::ranges::max(means_w);
  for (const double mean_w : means_w) is_idle.push_back(mean_w < kIdleShare * most_w);
  return is_idle;
}

std::optional<std::string> idle_text(std::span<const std::string> names,
                                     std::span<const double> means_w,
                                     const std::vector<bool>& is_idle) {
  if (means_w.empty()) return std::nullopt;
  const double most_w = std::ranges::max(means_w);
  std::vector<std::string> idle;
  std::vector<std::string> busy;
  for (std::size_t i = 0; i < names.size(); ++i) {
    (is_idle[i] ? idle : busy).push_back(names[i]);
  }
  if (idle.empty()) return std::nullopt;
  const std::size_t shown = std::min(idle.size(), kMostNames);
  // In several recordings, one name may be of a GPU in each.
  const bool are_clear = std::set(names.begin(), names.end()).size() == names.size();
  return fmt::format(
      "the mean power of {}{} is below {:.0f} % of the busiest GPU's {:.6g} W, and all of them count: if the run used only {}",
      fmt::join(printable_all(std::span(idle).first(shown)), ", "),
      shown < idle.size() ? fmt::format(" and {} more", idle.size() - shown) : "", 100 * kIdleShare,
      most_w,
      !are_clear ? std::string("the others, give only their recordings")
      : busy.size() > kMostNames
          ? std::string("the others, choose them with --gpus")
          : fmt::format("{}, pass {}", fmt::join(printable_all(busy), ", "), gpus_option(busy)));
}

std::optional<std::string> silent_series_text(std::span<const std::string> series) {
  if (series.empty()) return std::nullopt;
  return fmt::format(
      "silent_series: {}{} without any value, and not counted", series.front(),
      series.size() == 1 ? " is" : fmt::format(" and {} more are", series.size() - 1));
}

double idle_share(std::span<const double> means_w, const std::vector<bool>& is_idle) {
  double idle_w = 0;
  double all_w = 0;
  for (std::size_t i = 0; i < means_w.size(); ++i) {
    all_w += means_w[i];
    idle_w += is_idle[i] ? means_w[i] : 0;
  }
  return all_w > 0 ? idle_w / all_w : 0;
}

PlausibleWatts plausible_watts(std::string_view scope, bool has_limit) {
  constexpr double kMostModuleWatts = 4000;
  const std::string boundary = measured_boundary(scope);
  if (boundary == "module") return {kMostModuleWatts, kMostBoardWatts};
  if (boundary != "gpu") return {kMostMeanWatts, kMostMeanWatts};
  return {kMostBoardWatts, has_limit ? kMostBoardWatts : kMostUsualWatts};
}

bool is_impossible(double mean_w, double most_w) { return mean_w > most_w; }

std::optional<PowerUnit::Size> likely_unit(double mean_w, PowerUnit::Size read_as, double most_w) {
  using Size = PowerUnit::Size;
  const double number = mean_w / in_watts(1, read_as);
  for (const Size size : {Size::kilowatt, Size::watt, Size::milliwatt, Size::microwatt}) {
    const double watts = in_watts(number, size);
    if (size != read_as && watts >= kLeastWatts && !is_impossible(watts, most_w)) return size;
  }
  return std::nullopt;
}

std::string impossible_mean_text(double mean_w, PowerUnit::Size read_as, double most_w) {
  const auto unit = likely_unit(mean_w, read_as, most_w);
  if (!std::isfinite(mean_w)) return "a mean of more watts than a number holds";
  if (!unit) return fmt::format("a mean of {:.6g} W; --power-unit has no unit that fits", mean_w);
  const double watts = in_watts(mean_w / in_watts(1, read_as), *unit);
  return fmt::format("a mean of {:.6g} W; {}? pass --power-unit {}{}", mean_w, unit_word(*unit),
                     unit_symbol(*unit),
                     watts < kLeastUsualWatts
                         ? fmt::format(" if the GPU draws as little as {:.3g} W", watts)
                         : "");
}

std::optional<std::string> doubt_about(double mean_w, double usual_w) {
  if (!is_doubtful(mean_w, mean_w, usual_w)) return std::nullopt;
  return fmt::format(
      "implausible_watts: a mean of {:.6g} W per GPU; the header's unit may be wrong, or the sensor may be dead",
      mean_w);
}

std::string impossible_reading_text(double watts, PowerUnit::Size read_as) {
  return fmt::format(
      "a reading of {:.6g} W, which no GPU draws: the sensor or its recorder was at "
      "fault, or {} are not its unit (--power-unit)",
      watts, unit_word(read_as));
}

std::string impossible_window_text(double mean_w, double peak_w, PowerUnit::Size read_as,
                                   double most_w) {
  constexpr double kSpike = 5;  // a reading so much above the mean is alone
  const bool is_spike = std::isfinite(peak_w) && peak_w > kSpike * mean_w;
  if (is_impossible(mean_w, most_w) && !is_spike) {
    return impossible_mean_text(mean_w, read_as, most_w);
  }
  return is_impossible(peak_w, most_w) ? impossible_reading_text(peak_w, read_as) : std::string();
}

std::string impossible_power_text(const DrawnPower& drawn, PowerUnit::Size read_as,
                                  const PlausibleWatts& plausible) {
  constexpr double kMostOverLimit = 1.3;
  constexpr double kMostOverBoard = 1.5;  // a name may be of several boards
  const double most_w = plausible.most_w;
  const StatedLimits::Device& stated = drawn.stated;
  const bool are_few = drawn.absurd_samples > 0 && drawn.absurd_samples < drawn.samples / 2;
  if (is_impossible(drawn.mean_w, most_w) && (!are_few || !std::isfinite(drawn.mean_w))) {
    return impossible_mean_text(drawn.mean_w, read_as, most_w);
  }
  if (drawn.highest.watts > most_w) {
    return fmt::format(
        "{:.6g} W at {}, and {} of {} readings are above {:.6g} W, which no GPU draws: the sensor or its recorder was at fault",
        drawn.highest.watts, unix_and_iso(drawn.highest.unix_s), drawn.absurd_samples,
        drawn.samples, most_w);
  }
  if (!plausible.is_of_gpus()) return {};
  if (stated.above > 0) {
    return fmt::format(
        "{:.6g} W at {}, where its own row states a power limit of {:.6g} W; {} of {} readings are above twice their limit: the sensor is at fault, or power and limit are in different units",
        stated.first.watts, unix_and_iso(stated.first.unix_s), stated.first_limit_w, stated.above,
        stated.rows);
  }
  if (stated.rows > 0 && drawn.mean_w > kMostOverLimit * stated.mean_limit_w()) {
    return fmt::format(
        "a mean of {:.6g} W, above its power limit of {:.6g} W by more than {:.0f} %: the sensor is at fault, or power and limit are of different things",
        drawn.mean_w, stated.mean_limit_w(), 100 * (kMostOverLimit - 1));
  }
  if (stated.rows == 0 && drawn.board_limit_w > 0 &&
      drawn.mean_w > kMostOverBoard * drawn.board_limit_w) {
    return fmt::format(
        "a mean of {:.6g} W, above the {:.6g} W of its board ({}) by more than {:.0f} %: the sensor is at fault, or the power or the name is another device's",
        drawn.mean_w, drawn.board_limit_w, drawn.board, 100 * (kMostOverBoard - 1));
  }
  const bool has_worked = drawn.utilization_pct && *drawn.utilization_pct >= kSurelyWorkingPct;
  if (drawn.mean_w >= kLeastWorkingWatts || !(has_worked || drawn.is_large)) return {};
  const auto unit = likely_unit(drawn.mean_w, read_as, most_w);
  return fmt::format(
      "a mean of {:.6g} W, {}{}", drawn.mean_w,
      has_worked ? fmt::format("at a mean utilization of {:.0f} %", *drawn.utilization_pct)
                 : std::string("less than such a board draws when it is idle"),
      unit ? fmt::format("; {}? pass --power-unit {}", unit_word(*unit), unit_symbol(*unit))
           : "; the sensor is dead, or is of another part");
}

// ---- Keeps the odd readings, and skips those that were met.

namespace {

constexpr double kOnWatts = 15;
constexpr std::size_t kMostZerosInARow = 3;

// The end of the zeros that begin at `first`, if they are lone ones, else `first`.
std::size_t end_of_lone_zeros(std::span<const Sample> samples, std::size_t first) {
  std::size_t end = first;
  while (end < samples.size() && samples[end].watts == 0) ++end;
  const bool are_lone = first > 0 && end < samples.size() && end - first <= kMostZerosInARow &&
                        samples[first - 1].watts > kOnWatts && samples[end].watts > kOnWatts;
  return are_lone ? end : first;
}

}  // namespace

OddReadings::OddReadings(std::span<const Sample> samples) {
  const auto add = [&](std::size_t i) {
    odd_.push_back(
        {samples[i],
         {samples[i == 0 ? i : i - 1].unix_s, samples[std::min(i + 1, samples.size() - 1)].unix_s},
         odd_.size()});
  };
  std::size_t lone_end = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool begins_zeros = samples[i].watts == 0 && i > 0 && samples[i - 1].watts != 0;
    if (begins_zeros) lone_end = end_of_lone_zeros(samples, i);
    if (samples[i].watts > kMostUsualWatts || i < lone_end) add(i);
  }
}

std::size_t OddReadings::next_unmet(std::size_t i) {
  while (i < odd_.size() && odd_[i].next != i) {
    const std::size_t next = odd_[i].next;
    if (next < odd_.size()) odd_[i].next = odd_[next].next;
    i = next;
  }
  return i;
}

void OddReadings::count_in(Window window) {
  const auto first = std::ranges::upper_bound(odd_, window.start_unix_s, {},
                                              [](const Odd& odd) { return odd.reach.end_unix_s; });
  auto i = next_unmet(static_cast<std::size_t>(first - odd_.begin()));
  while (i < odd_.size() && odd_[i].reach.start_unix_s < window.end_unix_s) {
    odd_[i].next = i + 1;
    i = next_unmet(i);
  }
}

DeviceEnergy OddReadings::found() const {
  DeviceEnergy found;
  for (std::size_t i = 0; i < odd_.size(); ++i) {
    if (odd_[i].next == i) continue;
    const Sample& sample = odd_[i].sample;
    if (sample.watts == 0) {
      ++found.lone_zeros;
      continue;
    }
    if (sample.watts > kMostBoardWatts) ++found.absurd_samples;
    if (sample.watts <= found.highest_w) continue;
    found.highest_w = sample.watts;
    found.highest_unix_s = sample.unix_s;
  }
  return found;
}

}  // namespace aggregate_power
