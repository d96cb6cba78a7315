// Averages samples in buckets of one millisecond.
#include "core/energy/mean_power.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace aggregate_power {
namespace {

// Rows of one tick may be out of order between devices by some milliseconds.
constexpr std::int64_t kOpenMs = 2000;
constexpr std::size_t kNoRepeat = std::numeric_limits<std::size_t>::max();

}  // namespace

std::int64_t rounded_ms(double unix_s) {
  // The product is off by less than 1e-3 at present times: good unless it is near a half.
  const double ms = unix_s * 1000;
  if (ms >= 0 && ms < 1e13) {
    const auto whole = static_cast<std::int64_t>(ms);
    const double fraction = ms - static_cast<double>(whole);
    if (fraction < 0.49) return whole;
    if (fraction > 0.51) return whole + 1;
  }
  // Decimal digits of the exact value, rounded by the library.
  char digits[400];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, unix_s, std::chars_format::fixed, 3).ptr;
  std::int64_t value = 0;
  for (const char* at = digits; at != end; ++at) {
    if (*at < '0' || *at > '9') continue;
    if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) break;  // beyond any clock
    value = value * 10 + (*at - '0');
  }
  return digits[0] == '-' ? -value : value;
}

void MeanPowerBuckets::add(std::uint32_t device, double watts) {
  ++rows_;
  if (device != kNoDevice) {
    if (device >= places_.size()) places_.resize(device + 1);
    Place& place = places_[device];
    if (place.bucket == closed_ + 1) return repeat(shares_[place.share], watts);
    place = {closed_ + 1, shares_.size()};
    ++devices_;
  }
  shares_.push_back({watts, kNoRepeat});
}

void MeanPowerBuckets::repeat(Share& first, double watts) {
  if (first.repeats == kNoRepeat) {
    first.repeats = repeats_.size();
    repeats_.emplace_back().add(first.watts);
  }
  repeats_[first.repeats].add(watts);
}

void MeanPowerBuckets::close() {
  double watts = 0;
  for (const Share& share : shares_) {
    watts += share.repeats == kNoRepeat ? share.watts : repeats_[share.repeats].mean();
  }
  if (!std::isfinite(watts)) {
    overflowed_ = true;
    watts = 0;
  }
  by_device_.add(watts / static_cast<double>(std::max<std::size_t>(devices_, 1)));
  by_row_.add(watts / static_cast<double>(rows_));
  most_rows_ = std::max(most_rows_, rows_);
  ++closed_;
  rows_ = devices_ = 0;
  shares_.clear();
  repeats_.clear();
}

void MeanPowerBuckets::give(std::size_t gpus, MeanPower& mean) const {
  mean.avg_power_w = gpus > 0 ? by_device_.mean() : by_row_.mean();
  mean.gpus = gpus > 0 ? gpus : most_rows_;
  if (!overflowed_) return;
  mean.avg_power_w = std::numeric_limits<double>::infinity();
  mean.gpus = gpus;
}

void MeanPowerGatherer::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    const bool is_named = reading.kind == Reading::Kind::power;
    if (!is_named && reading.kind != Reading::Kind::no_device) continue;
    if (!window_.contains(reading.unix_s) || !part_.contains(reading.unix_s)) continue;
    const std::uint32_t device = is_named && has_devices_ ? reading.device : kNoDevice;
    is_sorted_ = is_sorted_ && (rows_.empty() || rows_.back().unix_s <= reading.unix_s);
    rows_.push_back({reading.unix_s, reading.watts, device});
    if (reading.watts > highest_.watts) highest_ = {reading.unix_s, reading.watts};
    if (device == kNoDevice) continue;
    if (device >= seen_.size()) seen_.resize(device + 1);
    seen_[device].watts += reading.watts;
    ++seen_[device].rows;
  }
}

// Closes the buckets of the rows up to one that is `open_ms` before the last one.
void MeanPowerGatherer::average(std::int64_t open_ms) {
  if (rows_.empty()) return;
  const auto stamp_ms = [](const Row& row) { return rounded_ms(row.unix_s); };
  if (!is_sorted_) std::ranges::stable_sort(rows_, {}, stamp_ms);
  is_sorted_ = true;
  const std::int64_t first_ms = stamp_ms(rows_.front());
  const std::int64_t last_ms = stamp_ms(rows_.back()) - open_ms;
  is_out_of_order_ = is_out_of_order_ || (last_ms_ && first_ms <= *last_ms_);
  if (is_out_of_order_) return rows_.clear();
  if (first_ms > last_ms) return;  // all are open
  if (!first_ms_) first_ms_ = first_ms;
  std::int64_t bucket_ms = first_ms;
  double unix_s = rows_.front().unix_s;
  auto row = rows_.begin();
  for (; row != rows_.end(); ++row) {
    if (row->unix_s != unix_s) {
      unix_s = row->unix_s;
      const std::int64_t row_ms = stamp_ms(*row);
      if (row_ms > last_ms) break;
      if (row_ms != bucket_ms) buckets_.close();
      bucket_ms = row_ms;
    }
    buckets_.add(row->device, row->watts);
  }
  buckets_.close();
  last_ms_ = bucket_ms;
  rows_.erase(rows_.begin(), row);
}

void MeanPowerGatherer::average() { average(kOpenMs); }

void MeanPowerGatherer::start_over() { *this = MeanPowerGatherer(window_, has_devices_); }

std::vector<std::uint32_t> MeanPowerGatherer::devices() const {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].rows > 0) devices.push_back(i);
  }
  return devices;
}

std::optional<MeanPower> MeanPowerGatherer::finish() {
  average(0);
  if (!last_ms_) return std::nullopt;
  MeanPower mean;
  buckets_.give(devices().size(), mean);
  mean.first_unix_s = static_cast<double>(*first_ms_) / 1e3;
  mean.last_unix_s = static_cast<double>(*last_ms_) / 1e3;
  return mean;
}

}  // namespace aggregate_power
