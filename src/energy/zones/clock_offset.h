// Estimates how far the clocks of hosts that shared one load are apart, by when each saw the load
// come and go.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "energy/zones/load_edges.h"

namespace aggregate_power {

// An instant at which the power of a host changed abruptly.
struct LoadEdge {
  double unix_s = 0;
  double uncertainty_s = 0;  // on either side; at least half the time between two samples
};

// What a load looks like on one host's clock.
struct LoadEdges {
  std::optional<LoadEdge> rise;  // near the window's start
  std::optional<LoadEdge> fall;  // near its end
  double interval_s = 0;         // between samples, at least 1
};

// Finds the load's edges in the readings of one host, second by second.
class LoadEdgeFinder {
 public:
  static constexpr double kNear_s = 30;  // on either side of the window's start and end

  explicit LoadEdgeFinder(Window window);

  // In any order.
  void take(std::span<const Reading> readings);
  // An edge counts only if the power on its two sides differs by more than noise, and if it is not
  // a slope: nothing else shows a difference between clocks.
  LoadEdges edges() const;

 private:
  Window window_;
  CurveGatherer start_;
  CurveGatherer end_;
};

// Whether it exceeds the edges' own uncertainty, two samples and one second.
bool is_large(const ClockOffset& offset, double interval_s);

// Estimates relative to what most hosts show: the median of each edge counts as right (the earlier
// of the two in the middle of an even number). nullopt for a host without an edge in common with
// another host.
std::vector<std::optional<ClockOffset>> estimate_clock_offsets(std::span<const LoadEdges> hosts);

}  // namespace aggregate_power
