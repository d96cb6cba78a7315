// Shares the energy at other places, too.
#include "energy/placed_interval.h"

#include <algorithm>
#include <cmath>

#include "energy/energy_estimate.h"

namespace aggregate_power {
namespace {

constexpr double kMostHalfShare = 0.5;
constexpr std::string_view kTooShort = "shorter_than_sensor_window";

std::vector<double> shared_later_j(const FleetPower& curve, std::vector<SharingRequest> requests,
                                   double later_s) {
  for (SharingRequest& request : requests) {
    request.in_flight.start_unix_s += later_s;
    request.in_flight.end_unix_s += later_s;
    request.first_token_s += later_s;
  }
  return share_energy(curve, requests).joules;
}

// By how much the energies change if the requests are up to `by_s` earlier or later.
std::vector<double> changes_j(const FleetPower& curve, const std::vector<SharingRequest>& requests,
                              double age_s, double by_s, const std::vector<double>& middle_j) {
  const std::vector<double> earlier = shared_later_j(curve, requests, age_s - by_s);
  std::vector<double> most = shared_later_j(curve, requests, age_s + by_s);
  for (std::size_t i = 0; i < most.size(); ++i) {
    most[i] = std::max(std::abs(earlier[i] - middle_j[i]), std::abs(most[i] - middle_j[i]));
  }
  return most;
}

}  // namespace

PlacedInterval placed_interval(double joules, double relative, std::span<const double> off_j) {
  double variance = relative * joules * relative * joules;
  for (const double off : off_j) variance += off * off / 3;  // of a rectangle
  const double half_j = kCoverageFactor * std::sqrt(variance);
  return {{}, joules, std::max(0.0, joules - half_j), joules + half_j};
}

std::vector<PlacedInterval> request_intervals(const FleetPower& curve,
                                              const std::vector<SharingRequest>& requests,
                                              const TimeResolution& time, double relative) {
  const std::vector<double> middle = shared_later_j(curve, requests, time.age_s);
  std::vector<std::vector<double>> changes;
  for (const double by_s : {time.window_s / 2, time.place_s}) {
    if (by_s > 0) changes.push_back(changes_j(curve, requests, time.age_s, by_s, middle));
  }
  std::vector<PlacedInterval> intervals;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].in_flight.duration_s() < time.window_s) {
      intervals.push_back({.none = kTooShort});
      continue;
    }
    std::vector<double> off_j;
    for (const std::vector<double>& change : changes) off_j.push_back(change[i]);
    intervals.push_back(placed_interval(middle[i], relative, off_j));
    PlacedInterval& interval = intervals.back();
    if (interval.high_j - middle[i] > kMostHalfShare * middle[i])
      interval = {.none = "not_resolved"};
  }
  return intervals;
}

std::vector<EnergyShares> shares_at_places(const PowerTrace& power, IntervalStore& intervals,
                                           const AttributionRules& rules,
                                           const TimeResolution& time) {
  std::vector<EnergyShares> places;
  for (const double by_s : {0.0, -time.window_s / 2, time.window_s / 2}) {
    AttributionRules moved = rules;
    moved.each = nullptr;
    moved.sensor_period_s = time.window_s;
    const double later_s = time.age_s + by_s;
    moved.shift_s += later_s;
    moved.window = {rules.window.start_unix_s + later_s, rules.window.end_unix_s + later_s};
    attribute_energy(power, intervals, moved, places.emplace_back());
  }
  return places;
}

PlacedInterval share_interval(std::span<const EnergyShare> places, double relative) {
  if (places[0].short_calls > 0) return {.none = kTooShort};
  const double middle_j = places[0].energy_j.value();
  double most_j = 0;
  for (const EnergyShare& place : places) {
    most_j = std::max(most_j, std::abs(place.energy_j.value() - middle_j));
  }
  return placed_interval(middle_j, relative, std::span(&most_j, 1));
}

}  // namespace aggregate_power
