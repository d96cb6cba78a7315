// Limits of plausible power.
#include "energy/plausibility.h"

#include <fmt/format.h>

namespace aggregate_power {
namespace {

constexpr double kMostWatts = 3000;
constexpr double kLeastWatts = 1;
constexpr double kMostMeanWatts = 10'000;

}  // namespace

bool is_doubtful(double mean_w, double max_w) { return max_w > kMostWatts || mean_w < kLeastWatts; }

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

}  // namespace aggregate_power
