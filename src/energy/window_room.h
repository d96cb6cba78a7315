// Room for the samples of a window, of which some have come.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/large_pages.h"

namespace aggregate_power {

// Makes room for `more` samples, which have a `unix_s`. If they do not fit, it is for all those up
// to `end_unix_s` at the pace so far: then they are moved seldom, and memory that is never written
// to costs nothing but address space.
template <typename Timed>
void make_window_room(std::vector<Timed>& samples, double end_unix_s, std::size_t more = 1) {
  constexpr std::size_t kFewest = 16;
  constexpr std::size_t kFew = 1024;
  constexpr double kMost = 256;  // times as many: the recording may end before
  const std::size_t count = samples.size();
  if (count + more <= samples.capacity()) return;
  double factor = 2;
  if (count >= kFew) {
    const double seen_s = samples.back().unix_s - samples.front().unix_s;
    const double wanted_s = 1.02 * (end_unix_s - samples.front().unix_s);
    if (seen_s > 0 && std::isfinite(wanted_s)) {
      factor = std::clamp(wanted_s / seen_s, 1.25, kMost);
    }
  }
  samples.reserve(std::max(
      {kFewest, count + more, static_cast<std::size_t>(factor * static_cast<double>(count))}));
  prefer_large_pages(samples);
}

}  // namespace aggregate_power
