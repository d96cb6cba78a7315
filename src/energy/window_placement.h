// Places a load of known length in a recording, when its result states its time only roughly.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Where the load may have started.
struct PlacementRange {
  double duration_s = 0;
  double earliest_start_s = 0;
  double latest_start_s = 0;
  double likely_start_s = 0;  // if the power does not tell
};

struct Placement {
  Window window;
  double half_width_s = 0;  // how far the window may be from its place
  // Energy of all devices: in the window, and the extremes over all placements that remain.
  double energy_j = 0;
  double low_j = 0;
  double high_j = 0;
  bool is_by_power = false;  // the power rises where the window starts, and falls where it ends
};

// The power around the range. A load stands out when the power before it and after it is lower:
// then the window is where its energy is highest, and the placements remain that explain nearly as
// much, because sensors average and samples are apart; and those that take in another load, such as
// a warm-up, because either may be the one that is meant. Otherwise all placements in the range
// remain.
class PlacementFinder {
 public:
  explicit PlacementFinder(PlacementRange range) : range_(range) {}

  void take(std::span<const Reading> readings);

  bool has_samples() const { return !devices_.empty(); }
  // Returns nullopt if no placement is covered by every device, or if one that is not may be right.
  std::optional<Placement> find();

 private:
  struct Device {
    std::vector<Sample> samples;
    std::vector<double> energy_j;  // up to each sample
    double energy_until_j(double unix_s) const;
    bool covers(double start_s, double end_s) const;
  };
  struct Candidate {
    double start_s = 0;
    double energy_j = 0;
  };
  void integrate();
  std::optional<double> energy_j(double start_s, double end_s) const;
  std::optional<double> mean_w(double start_s, double end_s) const;
  std::size_t steps() const;
  std::vector<Candidate> candidates() const;  // those that every device covers
  static const Candidate& highest(const std::vector<Candidate>& all);
  double resolution_s() const;
  struct Edges {
    double tolerance_j = 0;  // how much less energy a placement may have than the best one
    double idle_w = 0;       // of all devices, beside the load
  };
  std::optional<Edges> edges(const Candidate& best) const;
  bool is_another_load(const Candidate& other, const Candidate& best, const Edges& edges) const;

  PlacementRange range_;
  std::vector<Device> devices_;  // by Reading::device
};

}  // namespace aggregate_power
