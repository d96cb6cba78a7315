// Intervals of energies that are shared out by times: of requests, kernels and layers. Readings are
// means over a window and older than their stamps, so a part of the energy of such a time is seen
// before or after it. Pure arithmetic.
//
// An energy is looked for where the readings are of its time, and half of what they smear to either
// side. What the three places differ by is what was smeared: at an edge of the power that is an
// edge of the time, the middle less the mean of both sides.
#pragma once

#include <span>
#include <vector>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/result.h"
#include "energy/shares/attribution.h"
#include "energy/shares/requests.h"

namespace aggregate_power {

struct TimeResolution {
  double window_s = 0;  // of the sensor; the longest that is possible
  double period_s = 0;  // between two readings
  double age_s = 0;     // of readings, beyond their stamps
  double place_s = 0;   // how far the times may be from their place; the half width of a rectangle

  double shortest_s() const;  // a shorter time has no energy of its own
  double smear_s() const;     // over how long readings, and lines between them, smear an edge
};

// The standard uncertainties of a whole, and how they scale to a part of it.
struct WholeEnergy {
  double joules = 0;
  double seconds = 0;
  double pivot_j = 0;   // at the power about which gains turn
  double gain_j = 0;    // of boards
  double offset_j = 0;  // of boards
  double other_j = 0;

  void add(const WholeEnergy& other);
  double part_j(double joules, double seconds) const;
};
WholeEnergy whole_energy(const Estimate& estimate, double duration_s);

// 95 %, by request. None for one that is shorter than the sensor's window, and none wider than
// +-50 %.
std::vector<PlacedInterval> request_intervals(const FleetPower& curve,
                                              std::span<const SharingRequest> requests,
                                              const TimeResolution& time, const WholeEnergy& whole);

// The same of those for which `counts` is true, together; however short each is. `counts` has the
// length of `requests`.
PlacedInterval requests_interval(const FleetPower& curve, std::span<const SharingRequest> requests,
                                 const std::vector<bool>& counts, const TimeResolution& time,
                                 const WholeEnergy& whole);

// What a name of a trace got at each place, and what it would have got of a power of 1 W.
struct PlacedShare {
  EnergyShare middle;
  EnergyShare earlier;
  EnergyShare later;
  EnergyShare seconds;
  double unseen_j2 = 0;  // variance: readings leave time out

  void add(const PlacedShare& other);
};
struct PlacedShares {
  std::vector<PlacedShare> by_name;
  PlacedShare rest;
};
PlacedShares placed_shares(const PowerTrace& power, IntervalStore& intervals,
                           const AttributionRules& rules, const TimeResolution& time);
// None if a call is shorter than the sensor's window.
PlacedInterval share_interval(const PlacedShare& share, const WholeEnergy& whole);

}  // namespace aggregate_power
