// Keeps the earliest readings of a pass, and sorts them.
#include "energy/time_sorter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aggregate_power {

TimeSorter::TimeSorter(double first_unix_s, double last_unix_s, std::size_t room, Key key)
    : first_unix_s_(first_unix_s),
      last_unix_s_(last_unix_s),
      room_(std::max<std::size_t>(room, 1)),
      key_(key) {
  kept_.reserve(room_);  // memory that is not touched is not used
}

void TimeSorter::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    const bool has_power =
        reading.kind != Reading::Kind::bad_timestamp && reading.kind != Reading::Kind::no_power;
    if (!has_power || reading.unix_s < first_unix_s_ || reading.unix_s > last_unix_s_) continue;
    const double key = key_(reading.unix_s);
    if (key < first_key_) continue;
    if (key >= end_key_) {
      some_wait_ = true;
      continue;
    }
    if (kept_.size() >= room_) make_room();
    if (key < end_key_) kept_.push_back(reading);
  }
}

// Leaves the later half to another pass.
void TimeSorter::make_room() {
  std::vector<double> keys;
  keys.reserve(kept_.size());
  for (const Reading& reading : kept_) keys.push_back(key_(reading.unix_s));
  const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
  std::ranges::nth_element(keys, middle);
  end_key_ = *middle;
  if (end_key_ == *std::ranges::min_element(keys)) {
    end_key_ = std::nextafter(end_key_, std::numeric_limits<double>::infinity());
  }
  const auto removed = std::erase_if(
      kept_, [&](const Reading& reading) { return key_(reading.unix_s) >= end_key_; });
  some_wait_ = true;
  if (removed == 0) room_ = 2 * kept_.size() + 1;
}

bool TimeSorter::give(const std::function<void(std::span<const Reading>)>& out) {
  std::ranges::stable_sort(kept_, {}, [&](const Reading& reading) { return key_(reading.unix_s); });
  out(kept_);
  kept_.clear();
  first_key_ = end_key_;
  end_key_ = std::numeric_limits<double>::infinity();
  return std::exchange(some_wait_, false);
}

}  // namespace aggregate_power
