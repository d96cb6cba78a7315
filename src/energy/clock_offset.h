// How far the clocks of hosts that shared one load are apart, by when each saw the load come and
// go.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "energy/load_edges.h"

namespace aggregate_power {

// An instant at which the power of a host changed at once.
struct LoadEdge {
  double unix_s = 0;
  double uncertainty_s = 0;  // to either side; at least half the time between two samples
};

// What one host's clock shows of a load.
struct LoadEdges {
  std::optional<LoadEdge> rise;  // near the window's start
  std::optional<LoadEdge> fall;  // near its end
  double interval_s = 0;         // between samples, 1 at least
};

// Looks for the load's edges in the readings of one host, second by second.
class LoadEdgeFinder {
 public:
  static constexpr double kNear_s = 30;  // to either side of the window's start and end

  explicit LoadEdgeFinder(Window window);

  // In any order.
  void take(std::span<const Reading> readings);
  // An edge is there when power on its two sides is far enough apart to be no noise, and when it is
  // no slope: nothing else tells clocks apart.
  LoadEdges edges() const;

 private:
  Window window_;
  CurveGatherer start_;
  CurveGatherer end_;
};

// More than the edges' own uncertainty, two samples and one second.
bool is_large(const ClockOffset& offset, double interval_s);

// To what most hosts show: the median of each edge is taken for right (of an even number the
// earlier one in the middle). Nothing for a host that has no edge that another host has too.
std::vector<std::optional<ClockOffset>> estimate_clock_offsets(std::span<const LoadEdges> hosts);

}  // namespace aggregate_power
