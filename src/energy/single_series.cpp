// Compares the times and the power of rows that follow each other.
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
constexpr double kClearRhythm = 0.1;        // of the mean interval, from row to row
constexpr double kMuchAlike = 4;
constexpr std::uint64_t kFewest = 2;
constexpr std::uint64_t kOneIn = 12;
// A sensor that is asked again so soon repeats its reading; another GPU has another one.
constexpr double kSoonS = 0.05;
constexpr double kOtherPower = 0.002;  // of the power
// So many times with several readings are an accident.
constexpr std::uint64_t kFewTimes = 3;
constexpr std::uint64_t kOneTimeIn = 5;
// What stamps are cut to, in seconds.
constexpr double kGrids_s[] = {60, 1, 0.1, 0.01};
constexpr double kOffGridS = 1e-4;
// A row at each time that stamps can tell apart: the recorder may be faster than they are.
constexpr double kEachStep = 1.5;

}  // namespace

void Alternation::add(double value) {
  constexpr std::size_t kKept = kMost + 1;
  const auto at = [&](std::uint64_t number) -> double& { return last_[number % kKept]; };
  if (count_ >= kMost) {
    for (std::size_t k = 1; k <= kMost; ++k) apart_[k] += std::abs(value - at(count_ - k));
  }
  sum_ += value;
  at(count_++) = value;
}

std::size_t Alternation::period(double least) const {
  if (count_ < 4 * kMost) return 0;
  const double members = static_cast<double>(count_);
  if (apart_[1] < least * sum_ * (members - kMost) / members) return 0;
  for (std::size_t k = 2; k <= kMost; ++k) {
    if (apart_[k] * kMuchAlike < apart_[1]) return k;
  }
  return 0;
}

void SingleSeries::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::bad_timestamp) take_stamp(reading.unix_s);
    const bool is_power =
        reading.kind == Reading::Kind::power || reading.kind == Reading::Kind::no_device;
    if (is_power) power_.add(reading.watts);
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

void SingleSeries::take(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    // Rows per process repeat the reading of their GPU.
    const bool is_same = sample.unix_s == last_.unix_s && sample.watts == last_.watts;
    if (times_ > 0 && is_same) continue;
    if (times_ > 0) take_pair(last_, sample);
    if (times_ == 0 || sample.unix_s != last_.unix_s) take_time(sample.unix_s);
    take_stamp(sample.unix_s);
    power_.add(sample.watts);
    last_ = sample;
  }
}

void SingleSeries::take_time(double unix_s) {
  finish_stamp();
  for (std::size_t i = 0; i < kGrids; ++i) {
    const double off_s = std::abs(std::remainder(unix_s - clock_offset_s_, kGrids_s[i]));
    grids_[i].stamps += off_s < kOffGridS ? 1 : 0;
    const bool is_step = times_ > 0 && unix_s - last_.unix_s <= kEachStep * kGrids_s[i];
    grids_[i].steps += is_step ? 1 : 0;
  }
  ++times_;
}

void SingleSeries::finish_stamp() {
  differing_ += differs_ ? 1 : 0;
  differs_ = false;
}

void SingleSeries::take_pair(Sample before, Sample sample) {
  const double interval_s = sample.unix_s - before.unix_s;
  const bool is_other =
      std::abs(sample.watts - before.watts) > kOtherPower * std::max(sample.watts, before.watts);
  intervals_.add(interval_s);
  if (interval_s == 0 && is_other) differs_ = true;
  if (interval_s > kSoonS) return;
  ++short_pairs_;
  short_steps_ += is_other ? 1 : 0;
}

bool SingleSeries::come_in_groups() const {
  return changes_ >= kFewest && changes_ * kOneIn > comparisons_;
}

// A few stamps may be damaged.
bool SingleSeries::are_stamps_coarse() const {
  return std::ranges::any_of(grids_, [&](const Grid& grid) {
    return grid.stamps * 4 >= times_ * 3 && grid.steps * 2 + 1 >= times_;
  });
}

std::string SingleSeries::doubt() const {
  constexpr const char* kAdvice =
      "rows that name no GPU may be of several: record a column that identifies the GPU";
  if (!fault_.empty()) return fmt::format("{}; {}", fault_, kAdvice);
  if (const std::size_t rows = power_.period(kClearAlternation); rows > 0) {
    return fmt::format(
        "the power of a row is that of {} rows before, not that of the row before; {}", rows,
        kAdvice);
  }
  if (!come_in_groups()) return {};
  return fmt::format(
      "the rows come in groups: {} of {} intervals between them are more than {} times as long or as short as the one before; {}",
      changes_, comparisons_, kMuchLonger, kAdvice);
}

std::string SingleSeries::doubt_of_device() const {
  const std::uint64_t differing = differing_ + (differs_ ? 1 : 0);
  if (differing >= kFewTimes && differing * kOneTimeIn >= times_ && !are_stamps_coarse()) {
    return fmt::format("two readings or more that differ at {} of its {} times", differing, times_);
  }
  const std::size_t rows = power_.period(kClearAlternation);
  if (rows > 0 && intervals_.period(kClearRhythm) == rows) {
    return fmt::format(
        "{} in groups of {}, and the power of a row is that of {} rows before, not that of the row before",
        differing * 2 > times_ ? "several readings at one time" : "rows", rows, rows);
  }
  const bool is_soon = short_pairs_ >= kFewTimes && short_steps_ * 2 > short_pairs_;
  if (is_soon && come_in_groups() && !are_stamps_coarse()) {
    return fmt::format(
        "rows in groups: {} of its readings come within {} ms of the one before, and {} of them with another power",
        short_pairs_, kSoonS * 1000, short_steps_);
  }
  return {};
}

}  // namespace aggregate_power
