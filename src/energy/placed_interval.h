// Intervals of energies that are shared out by times: of requests, kernels and layers. Readings are
// means over a window and older than their stamps, so it is not known exactly where in them such a
// time is. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aggregate_power/fleet_power.h"
#include "energy/attribution.h"
#include "energy/request_energy.h"

namespace aggregate_power {

struct TimeResolution {
  double window_s = 1;  // of the sensor, or the time between two readings
  double age_s = 0;     // of readings, beyond their stamps
  double place_s = 0;   // how far the times may be from their place; the half width of a rectangle
};

struct PlacedInterval {
  std::string_view none = {};  // why there is no interval; empty: there is one
  double joules = 0;           // the middle, which is where the readings are of those times
  double low_j = 0;
  double high_j = 0;
};

// 95 %, around the middle. `relative` is the standard uncertainty of the energy of the whole, and
// `off_j` by how much the energy changes at the ends of each stretch in which the times may be.
PlacedInterval placed_interval(double joules, double relative, std::span<const double> off_j);

// By request. None for one that is shorter than the sensor's window, and none wider than +-50 %.
std::vector<PlacedInterval> request_intervals(const FleetPower& curve,
                                              const std::vector<SharingRequest>& requests,
                                              const TimeResolution& time, double relative);

// The same for the intervals of a trace: the shares where the readings are of them, and half of the
// sensor's window to either side.
inline constexpr std::size_t kSharePlaces = 3;
std::vector<EnergyShares> shares_at_places(const PowerTrace& power, IntervalStore& intervals,
                                           const AttributionRules& rules,
                                           const TimeResolution& time);
// Of what one name got at these places. None if a call is shorter than the sensor's window.
PlacedInterval share_interval(std::span<const EnergyShare> places, double relative);

}  // namespace aggregate_power
