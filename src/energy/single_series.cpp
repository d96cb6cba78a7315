// Compares the times of rows that follow each other.
#include "energy/single_series.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// Of rows of N GPUs in groups, 2 intervals in N are much longer or shorter than the one before:
// that between two groups, and the first within a group. Recordings of one GPU, sampled as fast as
// its tool can, have up to 1 in 20.
constexpr double kMuchLonger = 4;
// Rows of N GPUs in turn: each row's power is near that of N rows before, and not of the one
// before.
constexpr double kClearAlternation = 0.02;  // of the mean power, from row to row
constexpr double kMuchAlike = 4;
constexpr std::uint64_t kFewest = 2;
constexpr std::uint64_t kOneIn = 12;

}  // namespace

void SingleSeries::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::bad_timestamp) take_stamp(reading.unix_s);
    const bool is_power =
        reading.kind == Reading::Kind::power || reading.kind == Reading::Kind::no_device;
    if (is_power) take_power(reading.watts);
  }
}

void SingleSeries::take_stamp(double unix_s) {
  const double interval_s = unix_s - last_unix_s_;
  if (++stamps_ > 1 && interval_s <= 0 && fault_.empty()) {
    fault_ = interval_s == 0
                 ? fmt::format("two rows have the time {:.3f}", unix_s)
                 : fmt::format("a row at {:.3f} comes after one at {:.3f}", unix_s, last_unix_s_);
  }
  if (stamps_ > 2) {
    ++comparisons_;
    const auto [shorter_s, longer_s] = std::minmax(interval_s, interval_s_);
    changes_ += longer_s > shorter_s * kMuchLonger ? 1 : 0;
  }
  interval_s_ = interval_s;
  last_unix_s_ = unix_s;
}

void SingleSeries::take_power(double watts) {
  constexpr std::size_t kKept = kMostGpus + 1;
  const auto at = [&](std::uint64_t number) -> double& { return last_w_[number % kKept]; };
  if (readings_ >= kMostGpus) {
    for (std::size_t k = 1; k <= kMostGpus; ++k) {
      apart_w_[k] += std::abs(watts - at(readings_ - k));
    }
  }
  sum_w_ += watts;
  at(readings_++) = watts;
}

std::size_t SingleSeries::period() const {
  if (readings_ < 4 * kMostGpus) return 0;
  const double rows = static_cast<double>(readings_);
  if (apart_w_[1] < kClearAlternation * sum_w_ * (rows - kMostGpus) / rows) return 0;
  for (std::size_t k = 2; k <= kMostGpus; ++k) {
    if (apart_w_[k] * kMuchAlike < apart_w_[1]) return k;
  }
  return 0;
}

std::string SingleSeries::doubt() const {
  constexpr const char* kAdvice =
      "rows that name no GPU may be of several: record a column that identifies the GPU";
  if (!fault_.empty()) return fmt::format("{}; {}", fault_, kAdvice);
  if (const std::size_t rows = period(); rows > 0) {
    return fmt::format(
        "the power of a row is that of {} rows before, not that of the row before; {}", rows,
        kAdvice);
  }
  if (changes_ < kFewest || changes_ * kOneIn <= comparisons_) return {};
  return fmt::format(
      "the rows come in groups: {} of {} intervals between them are more than {} times as long or as short as the one before; {}",
      changes_, comparisons_, kMuchLonger, kAdvice);
}

}  // namespace aggregate_power
