// Limits of plausible power.
#include "energy/plausibility.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/shown_time.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

constexpr double kLeastWatts = 1;
constexpr double kIdleShare = 0.4;  // of the busiest device's mean
constexpr std::size_t kMostNames = 8;

// Of several GPUs, what is said of the first one stands for all.
std::string of_first(std::string text, std::size_t gpus) {
  return gpus == 1 ? text
                   : fmt::format("{}; {} other GPUs have such readings, too", text, gpus - 1);
}

}  // namespace

std::vector<std::string> odd_samples_text(std::span<const std::string> names,
                                          std::span<const DeviceEnergy> gpus, bool are_boards) {
  std::string absurd, zeros;
  std::size_t with_absurd = 0;
  std::size_t with_zeros = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const DeviceEnergy& gpu = gpus[i];
    const bool is_absurd = are_boards ? gpu.absurd_samples > 0 : gpu.highest_w > kMostMeanWatts;
    if (is_absurd && with_absurd++ == 0) {
      absurd = fmt::format(
          "implausible_readings: GPU {} reads {:.6g} W at {}, more than any draws; the energy includes it",
          printable(names[i]), gpu.highest_w, unix_and_iso(gpu.highest_unix_s));
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

bool is_doubtful(double mean_w, double max_w) {
  return max_w > kMostBoardWatts || mean_w < kLeastWatts;
}

std::vector<bool> idle_devices(std::span<const double> means_w) {
  std::vector<bool> is_idle;
  const double most_w = means_w.empty() ? 0 : std::ranges::max(means_w);
  for (const double mean_w : means_w) is_idle.push_back(mean_w < kIdleShare * most_w);
  return is_idle;
}

std::optional<std::string> idle_text(std::span<const std::string> names,
                                     std::span<const double> means_w) {
  if (means_w.empty()) return std::nullopt;
  const double most_w = std::ranges::max(means_w);
  const std::vector<bool> is_idle = idle_devices(means_w);
  std::vector<std::string> idle;
  std::vector<std::string> busy;
  for (std::size_t i = 0; i < names.size(); ++i) {
    (is_idle[i] ? idle : busy).push_back(printable(names[i]));
  }
  if (idle.empty()) return std::nullopt;
  const std::size_t shown = std::min(idle.size(), kMostNames);
  return fmt::format(
      "the mean power of {}{} is below {:.0f} % of the busiest GPU's {:.6g} W, and all of them count: if the run used only {}",
      fmt::join(std::span(idle).first(shown), ", "),
      shown < idle.size() ? fmt::format(" and {} more", idle.size() - shown) : "", 100 * kIdleShare,
      most_w,
      busy.size() > kMostNames
          ? std::string("the others, choose them with --gpus")
          : fmt::format("{}, pass --gpus {}", fmt::join(busy, ", "), fmt::join(busy, ",")));
}

std::optional<std::string> silent_series_text(std::span<const std::string> series) {
  if (series.empty()) return std::nullopt;
  return fmt::format(
      "silent_series: {}{} without any value, and not counted", series.front(),
      series.size() == 1 ? " is" : fmt::format(" and {} more are", series.size() - 1));
}

double idle_share(std::span<const double> means_w) {
  const std::vector<bool> is_idle = idle_devices(means_w);
  double idle_w = 0;
  double all_w = 0;
  for (std::size_t i = 0; i < means_w.size(); ++i) {
    all_w += means_w[i];
    idle_w += is_idle[i] ? means_w[i] : 0;
  }
  return all_w > 0 ? idle_w / all_w : 0;
}

bool is_impossible(double mean_w) { return mean_w > kMostMeanWatts; }

std::optional<PowerUnit::Size> likely_unit(double mean_w, PowerUnit::Size read_as) {
  using Size = PowerUnit::Size;
  const double number = mean_w / in_watts(1, read_as);
  for (const Size size : {Size::kilowatt, Size::watt, Size::milliwatt}) {
    const double watts = in_watts(number, size);
    if (watts >= kLeastWatts && !is_impossible(watts)) return size;
  }
  return std::nullopt;
}

std::string impossible_mean_text(double mean_w, PowerUnit::Size read_as) {
  const auto unit = likely_unit(mean_w, read_as);
  if (!std::isfinite(mean_w)) return "a mean of more watts than a number holds";
  if (!unit) return fmt::format("a mean of {:.6g} W; --power-unit has no unit that fits", mean_w);
  return fmt::format("a mean of {:.6g} W; {}? pass --power-unit {}", mean_w, unit_word(*unit),
                     unit_symbol(*unit));
}

std::optional<std::string> doubt_about(double mean_w) {
  if (!is_doubtful(mean_w, mean_w)) return std::nullopt;
  return fmt::format(
      "implausible_watts: a mean of {:.6g} W per GPU; the header's unit may be wrong, or the sensor may be dead",
      mean_w);
}

std::string impossible_gpu_text(const DeviceEnergy& gpu, double mean_w, PowerUnit::Size read_as) {
  const bool are_few = gpu.absurd_samples > 0 && gpu.absurd_samples < gpu.samples / 2;
  if (!are_few || !std::isfinite(mean_w)) return impossible_mean_text(mean_w, read_as);
  return fmt::format(
      "a mean of {:.6g} W; {} of {} readings are above {} W, the highest is {:.6g} W at {}: the sensor or its recorder was at fault",
      mean_w, gpu.absurd_samples, gpu.samples, kMostBoardWatts, gpu.highest_w,
      unix_and_iso(gpu.highest_unix_s));
}

}  // namespace aggregate_power
