// Schema 1: the mean power of a GPU over the samples inside a window.
#include "aggregate_power/analysis/mean_power.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace aggregate_power {
namespace {

// Rows of one tick may be some milliseconds out of order between devices.
constexpr std::int64_t kOpenMs = 2000;
constexpr std::uint32_t kNoDevice = std::numeric_limits<std::uint32_t>::max();

double exact_mean(double first, std::span<const double> more) {
  ExactMean mean;
  mean.add(first);
  for (const double value : more) mean.add(value);
  return mean.mean();
}

}  // namespace

std::int64_t rounded_ms(double unix_s) {
  // The product is off by less than 1e-3 ms at today's times: good unless it lies near a half.
  const double ms = unix_s * 1000;
  const double below = std::floor(ms);
  if (std::abs(ms) < 1e13 && std::abs(ms - below - 0.5) > 0.01) {
    return static_cast<std::int64_t>(std::llround(ms));
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

MeanPowerGatherer::MeanPowerGatherer(Window window, bool has_devices, bool any_order)
    : window_(window),
      has_devices_(has_devices),
      any_order_(any_order),
      closed_to_ms_(std::numeric_limits<std::int64_t>::min()) {}

void MeanPowerGatherer::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    const bool named = reading.kind == Reading::Kind::power;
    if (!named && reading.kind != Reading::Kind::no_device) continue;
    if (reading.unix_s < window_.start_unix_s || reading.unix_s > window_.end_unix_s) continue;
    ++readings_in_window_;
    const std::uint32_t device = named && has_devices_ ? reading.device : kNoDevice;
    const std::int64_t stamp_ms = rounded_ms(reading.unix_s);
    if (any_order_) {
      kept_.push_back({stamp_ms, reading.watts, device});
    } else {
      add(stamp_ms, device, reading.watts);
    }
  }
}

void MeanPowerGatherer::add(std::int64_t stamp_ms, std::uint32_t device, double watts) {
  Bucket* bucket = find_bucket(stamp_ms);
  if (bucket == nullptr) {
    out_of_order_ = true;
    return;
  }
  ++bucket->rows;
  if (device != kNoDevice) {
    if (device >= seen_devices_.size()) seen_devices_.resize(device + 1);
    seen_devices_[device] = true;
    const auto same = std::ranges::find(bucket->shares, device, &Share::device);
    if (same != bucket->shares.end()) {
      same->more.push_back(watts);
      return;
    }
  }
  bucket->shares.push_back({device, watts, {}});
}

MeanPowerGatherer::Bucket* MeanPowerGatherer::find_bucket(std::int64_t stamp_ms) {
  if (stamp_ms <= closed_to_ms_) return nullptr;
  auto at = open_.end();
  while (at != open_.begin() && std::prev(at)->stamp_ms >= stamp_ms) --at;
  if (at != open_.end() && at->stamp_ms == stamp_ms) return &*at;
  const bool is_newest = at == open_.end();
  const auto position = at - open_.begin();
  open_.insert(at, Bucket{stamp_ms, 0, {}});
  if (!is_newest) return &open_[static_cast<std::size_t>(position)];
  while (open_.front().stamp_ms < stamp_ms - kOpenMs) {
    closed_to_ms_ = open_.front().stamp_ms;
    close(open_.front());
    open_.pop_front();
  }
  return &open_.back();
}

void MeanPowerGatherer::close(Bucket& bucket) {
  double watts = 0;
  double row_watts = 0;
  std::size_t devices = 0;
  for (const Share& share : bucket.shares) {
    watts += share.more.empty() ? share.watts : exact_mean(share.watts, share.more);
    row_watts += share.watts;
    devices += share.device != kNoDevice ? 1 : 0;
  }
  by_device_.add(watts / static_cast<double>(std::max<std::size_t>(devices, 1)));
  by_row_.add(row_watts / static_cast<double>(bucket.rows));
  most_rows_ = std::max(most_rows_, bucket.rows);
}

std::optional<MeanPower> MeanPowerGatherer::finish() {
  std::ranges::stable_sort(kept_, {}, &Late::stamp_ms);
  for (const Late& reading : kept_) add(reading.stamp_ms, reading.device, reading.watts);
  for (Bucket& bucket : open_) close(bucket);
  open_.clear();
  if (by_device_.count() == 0) return std::nullopt;
  const auto seen = static_cast<std::size_t>(std::ranges::count(seen_devices_, true));
  if (seen > 0) return MeanPower{by_device_.mean(), seen};
  return MeanPower{by_row_.mean(), most_rows_};
}

}  // namespace aggregate_power
