// The samples of a recording in memory, by device and in the order of time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Keeps 16 bytes a sample.
class Samples {
 public:
  // Of the readings of this kind that are in `within`.
  explicit Samples(Window within, Reading::Kind kind = Reading::Kind::power)
      : within_(within), kind_(kind) {}

  // The next readings of the recording, in any order.
  void take(std::span<const Reading> readings);
  // Puts the samples of each device in the order of time; where several have one stamp, they stay
  // in the order in which they came.
  void sort();
  // Forgets those that are not in `within`, and takes no others from now on.
  void narrow(Window within);
  // Forgets them, and takes those in `within` from now on.
  void clear(Window within);
  void clear() { clear(within_); }
  std::size_t size() const { return size_; }  // of all devices

  // So many are worth being looked at before the next ones come: they are still in a cache.
  static constexpr std::size_t kMany = 1 << 12;

  // By Reading::device; a device without samples has none, or is not here.
  std::vector<std::vector<Sample>>& devices() { return devices_; }
  const std::vector<std::vector<Sample>>& devices() const { return devices_; }

 private:
  void make_room(std::vector<Sample>& samples) const;

  Window within_;
  Reading::Kind kind_;
  std::vector<std::vector<Sample>> devices_;
  std::size_t size_ = 0;
  bool is_sorted_ = true;
};

// The part of samples in time order that is in the window.
std::span<const Sample> samples_in(std::span<const Sample> samples, Window window);

}  // namespace aggregate_power
