// Keeps the odd readings, and skips those that were met.
#include "core/energy/odd_readings.h"

#include <algorithm>

#include "core/energy/plausibility.h"

namespace aggregate_power {
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
