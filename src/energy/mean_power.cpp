// Averages samples in buckets of one millisecond.
#include "energy/mean_power.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace aggregate_power {
namespace {

// Rows of one tick may be out of order between devices by some milliseconds.
constexpr std::int64_t kOpenMs = 2000;
constexpr std::uint32_t kNoRepeat = std::numeric_limits<std::uint32_t>::max();
// In a bucket of at most this many, a share may be searched for.
constexpr std::size_t kFewShares = 1024;

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

MeanPowerGatherer::MeanPowerGatherer(Window window, bool has_devices)
    : window_(window),
      has_devices_(has_devices),
      closed_to_ms_(std::numeric_limits<std::int64_t>::min()),
      newest_unix_s_(std::numeric_limits<double>::quiet_NaN()) {}

inline void MeanPowerGatherer::add(Bucket& bucket, std::uint32_t device, double watts) {
  ++bucket.rows;
  if (device != kNoDevice) {
    if (device >= places_.size()) places_.resize(device + 1);
    Place& place = places_[device];
    place.watts += watts;
    ++place.rows;
    if (place.bucket >= bucket.number) return add_late(bucket, device, watts);
    place.bucket = bucket.number;
    place.share = bucket.shares.size();
  }
  bucket.shares.push_back({device, kNoRepeat, watts});
}

// The device already has a share in this bucket, or has been in a newer one since.
void MeanPowerGatherer::add_late(Bucket& bucket, std::uint32_t device, double watts) {
  std::size_t share = places_[device].share;
  if (places_[device].bucket != bucket.number) {
    // Sorted readings never get here, and need no search.
    if (bucket.shares.size() > kFewShares) out_of_order_ = true;
    if (out_of_order_) return;
    const auto found = std::ranges::find(bucket.shares, device, &Share::device);
    if (found == bucket.shares.end()) {
      bucket.shares.push_back({device, kNoRepeat, watts});
      return;
    }
    share = static_cast<std::size_t>(found - bucket.shares.begin());
  }
  Share& first = bucket.shares[share];
  if (first.repeat == kNoRepeat) {
    first.repeat = static_cast<std::uint32_t>(bucket.repeats.size());
    bucket.repeats.emplace_back().add(first.watts);
  }
  bucket.repeats[first.repeat].add(watts);
}

void MeanPowerGatherer::take(std::span<const Reading> readings) {
  if (out_of_order_) return;
  for (const Reading& reading : readings) {
    const bool named = reading.kind == Reading::Kind::power;
    if (!named && reading.kind != Reading::Kind::no_device) continue;
    if (reading.unix_s < window_.start_unix_s || reading.unix_s > window_.end_unix_s) continue;
    const std::uint32_t device = named && has_devices_ ? reading.device : kNoDevice;
    if (reading.unix_s != newest_unix_s_) {
      newest_unix_s_ = reading.unix_s;
      newest_ = find_bucket(rounded_ms(reading.unix_s));
    }
    if (newest_ == nullptr) {
      out_of_order_ = true;
    } else {
      add(*newest_, device, reading.watts);
    }
  }
}

// The bucket of that millisecond. Returns nullptr if it was closed, or would be by now.
MeanPowerGatherer::Bucket* MeanPowerGatherer::find_bucket(std::int64_t stamp_ms) {
  if (stamp_ms <= closed_to_ms_) return nullptr;
  if (!open_.empty() && stamp_ms < open_.back().stamp_ms - kOpenMs) return nullptr;
  auto at = open_.end();
  while (at != open_.begin() && std::prev(at)->stamp_ms >= stamp_ms) --at;
  if (at != open_.end() && at->stamp_ms == stamp_ms) return &*at;
  while (!open_.empty() && at == open_.end() && open_.front().stamp_ms < stamp_ms - kOpenMs) {
    close_oldest();
    at = open_.end();
  }
  Bucket bucket;
  if (!spare_.empty()) {
    bucket = std::move(spare_.back());
    spare_.pop_back();
  }
  bucket.stamp_ms = stamp_ms;
  bucket.number = ++begun_;
  return &*open_.insert(at, std::move(bucket));
}

void MeanPowerGatherer::close_oldest() {
  Bucket& bucket = open_.front();
  double watts = 0;
  std::size_t devices = 0;
  for (const Share& share : bucket.shares) {
    watts += share.repeat == kNoRepeat ? share.watts : bucket.repeats[share.repeat].mean();
    devices += share.device != kNoDevice ? 1 : 0;
  }
  if (!std::isfinite(watts)) {
    overflowed_ = true;
    watts = 0;
  }
  by_device_.add(watts / static_cast<double>(std::max<std::size_t>(devices, 1)));
  by_row_.add(watts / static_cast<double>(bucket.rows));
  most_rows_ = std::max(most_rows_, bucket.rows);
  closed_to_ms_ = bucket.stamp_ms;
  if (!first_ms_) first_ms_ = bucket.stamp_ms;
  bucket.rows = 0;
  bucket.shares.clear();
  bucket.repeats.clear();
  spare_.push_back(std::move(bucket));
  open_.pop_front();
}

std::vector<std::uint32_t> MeanPowerGatherer::devices() const {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (places_[i].bucket > 0) devices.push_back(i);
  }
  return devices;
}

std::optional<MeanPower> MeanPowerGatherer::finish() {
  while (!open_.empty()) close_oldest();
  if (by_device_.count() == 0) return std::nullopt;
  const std::size_t gpus = devices().size();
  MeanPower result{by_device_.mean(), gpus, static_cast<double>(*first_ms_) / 1e3,
                   static_cast<double>(closed_to_ms_) / 1e3};
  if (gpus == 0) {
    result.avg_power_w = by_row_.mean();
    result.gpus = most_rows_;
  }
  if (overflowed_) {
    result.avg_power_w = std::numeric_limits<double>::infinity();
    result.gpus = gpus;
  }
  return result;
}

}  // namespace aggregate_power
