// Looks at each pair of neighbours.
#include "core/energy/sample_holes.h"

#include <algorithm>

namespace aggregate_power::energy {

SampleHoles holes_of(std::span<const Sample> samples, std::span<const double> blanks_unix_s,
                     Window window, double longest_gap_s) {
  SampleHoles found;
  const auto count = [&](double from, double to) {  // cells in [from, to)
    const auto first = std::ranges::lower_bound(blanks_unix_s, from);
    const auto last = std::ranges::lower_bound(blanks_unix_s, to);
    return first < last ? static_cast<std::size_t>(last - first) : 0;
  };
  found.missing_cells = static_cast<std::size_t>(
      std::ranges::count_if(blanks_unix_s, [&](double unix_s) { return window.contains(unix_s); }));
  if (samples.empty()) return found;
  found.has_start = samples.front().unix_s <= window.start_unix_s;
  found.has_end = samples.back().unix_s >= window.end_unix_s;
  double uncovered_s = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window hole = {samples[i - 1].unix_s, samples[i].unix_s};
    const double from = std::max(hole.start_unix_s, window.start_unix_s);
    const double to = std::min(hole.end_unix_s, window.end_unix_s);
    if (to <= from) continue;
    if (hole.duration_s() > longest_gap_s) {
      uncovered_s += to - from;
      found.holes.push_back(hole);
    } else if (const std::size_t cells = count(from, to); cells > 0) {
      found.isolated_cells += cells;
      found.holes.push_back(hole);
    }
  }
  found.covered_share = 1 - uncovered_s / window.duration_s();
  return found;
}

std::size_t allowed_missing_cells(std::size_t readings, std::size_t missing) {
  return std::max<std::size_t>(2, (readings + missing) / 100);
}

}  // namespace aggregate_power::energy
