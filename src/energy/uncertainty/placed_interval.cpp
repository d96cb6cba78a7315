// Shares the energy at other places, too.
#include "energy/uncertainty/placed_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/telemetry/samples.h"

namespace aggregate_power {
namespace {

constexpr double kMostHalfShare = 0.5;
// Of the variance of draws: lines between readings follow a part of what is between them.
constexpr double kOfDraws = 0.5;
constexpr std::string_view kTooShort = "shorter_than_sensor_window";

// One energy at its places.
struct Places {
  double middle_j = 0;
  double earlier_j = 0;
  double later_j = 0;
  double seconds = 0;      // that it would have of a power of 1 W
  double unseen_j = 0;     // standard: readings leave time out
  double elsewhere_j = 0;  // the largest change where the times may be

  // What is unseen of one says nothing about the others; all times are elsewhere together.
  void add(const Places& other) {
    middle_j += other.middle_j;
    earlier_j += other.earlier_j;
    later_j += other.later_j;
    seconds += other.seconds;
    unseen_j = std::hypot(unseen_j, other.unseen_j);
    elsewhere_j += other.elsewhere_j;
  }
};

double rectangle_j2(double half_j) { return half_j * half_j / 3; }

PlacedInterval interval_of(const Places& places, const WholeEnergy& whole) {
  const double smeared_j = places.middle_j - (places.earlier_j + places.later_j) / 2;
  const double joules = std::max(0.0, places.middle_j + smeared_j);
  const double shift_j = (places.later_j - places.earlier_j) / 2;
  const double part_j = whole.part_j(joules, places.seconds);
  const double variance_j2 = part_j * part_j + places.unseen_j * places.unseen_j +
                             rectangle_j2(smeared_j) + rectangle_j2(shift_j) +
                             rectangle_j2(places.elsewhere_j);
  const double half_j = kCoverageFactor * std::sqrt(variance_j2);
  return {{}, joules, std::max(0.0, joules - half_j), joules + half_j};
}

// Level beyond both ends, where the readings of the window's edges would be.
FleetPower extended(const FleetPower& curve, double by_s) {
  std::vector<Sample> knots = {{curve.knots().front().unix_s - by_s, curve.knots().front().watts}};
  knots.insert(knots.end(), curve.knots().begin(), curve.knots().end());
  knots.push_back({knots.back().unix_s + by_s, knots.back().watts});
  return FleetPower(std::move(knots));
}

// Standard deviation of the power between readings that follow each other.
double scatter_w(std::span<const Sample> readings, double period_s) {
  double squares = 0;
  double pairs = 0;
  const Sample* last = nullptr;
  for (const Sample& reading : readings) {
    if (last && reading.unix_s - last->unix_s < 0.9 * period_s) continue;
    if (last) {
      squares += (reading.watts - last->watts) * (reading.watts - last->watts);
      ++pairs;
    }
    last = &reading;
  }
  return pairs > 0 ? std::sqrt(squares / pairs / 2) : 0;
}

// Of a second, if what is between readings is a draw of its own: a variance.
double unseen_w2_s(std::span<const Sample> readings, const TimeResolution& time) {
  if (!(time.period_s > time.window_s)) return 0;
  const double scatter = scatter_w(readings, time.period_s);
  return kOfDraws * scatter * scatter * (time.period_s - time.window_s);
}

class RequestPlaces {
 public:
  RequestPlaces(const FleetPower& curve, std::span<const SharingRequest> requests,
                const TimeResolution& time)
      : curve_(extended(curve, time.age_s + time.smear_s() + time.place_s)),
        requests_(requests.begin(), requests.end()) {
    const double half_s = time.smear_s() / 2;
    const Window window = {curve.knots().front().unix_s, curve.knots().back().unix_s};
    clip(window);
    middle_ = shared(curve_, time.age_s);
    earlier_ = shared(curve_, time.age_s - half_s);
    later_ = shared(curve_, time.age_s + half_s);
    seconds_ = shared(FleetPower({{window.start_unix_s, 1}, {window.end_unix_s, 1}}), 0);
    if (time.place_s > 0) {
      elsewhere_ = {shared(curve_, time.age_s - time.place_s),
                    shared(curve_, time.age_s + time.place_s)};
    }
    unseen_w2_s_ = unseen_w2_s(curve.knots(), time);
  }

  Places of(std::size_t i) const {
    Places places{middle_[i], earlier_[i], later_[i], seconds_[i]};
    const double length_s = requests_[i].in_flight.duration_s();
    if (length_s > 0) places.unseen_j = seconds_[i] * std::sqrt(unseen_w2_s_ / length_s);
    for (const std::vector<double>& joules : elsewhere_) {
      places.elsewhere_j = std::max(places.elsewhere_j, std::abs(joules[i] - middle_[i]));
    }
    return places;
  }

 private:
  // What is outside of the window does not count, wherever the readings are.
  void clip(Window window) {
    for (SharingRequest& request : requests_) {
      Window& own = request.in_flight;
      own.start_unix_s = std::clamp(own.start_unix_s, window.start_unix_s, window.end_unix_s);
      own.end_unix_s = std::clamp(own.end_unix_s, window.start_unix_s, window.end_unix_s);
    }
  }
  std::vector<double> shared(const FleetPower& curve, double later_s) const {
    std::vector<SharingRequest> moved = requests_;
    for (SharingRequest& request : moved) {
      request.in_flight.start_unix_s += later_s;
      request.in_flight.end_unix_s += later_s;
      request.first_token_s += later_s;
    }
    return share_energy(curve, moved).joules;
  }

  FleetPower curve_;
  std::vector<SharingRequest> requests_;
  std::vector<double> middle_;
  std::vector<double> earlier_;
  std::vector<double> later_;
  std::vector<double> seconds_;
  std::vector<std::vector<double>> elsewhere_;
  double unseen_w2_s_ = 0;
};

}  // namespace

double TimeResolution::shortest_s() const { return std::max(window_s, period_s); }

// Means over W, and lines between readings that are P apart: like a mean over the root of W^2 + 2
// P^2 where both are of one size.
double TimeResolution::smear_s() const {
  return window_s > 0 ? std::hypot(window_s, period_s * std::sqrt(2.0)) : period_s;
}

void WholeEnergy::add(const WholeEnergy& other) {
  joules += other.joules;
  seconds += other.seconds;
  pivot_j += other.pivot_j;
  gain_j += other.gain_j;
  offset_j += other.offset_j;
  other_j += other.other_j;
}

// A gain turns about a power: a part at more than the mean power is off by more than its share.
double WholeEnergy::part_j(double part_joules, double part_seconds) const {
  if (!(joules > 0) || !(seconds > 0)) return 0;
  const double time_share = part_seconds / seconds;
  const double energy_share = part_joules / joules;
  const double turned_j = std::abs(joules - pivot_j);
  const double gain_share = turned_j > 1e-3 * joules
                                ? std::abs(part_joules - pivot_j * time_share) / turned_j
                                : energy_share;
  return std::hypot(gain_j * gain_share, offset_j * time_share, other_j * energy_share);
}

WholeEnergy whole_energy(const Estimate& estimate, double duration_s) {
  WholeEnergy whole{.joules = estimate.joules, .seconds = duration_s, .pivot_j = estimate.pivot_j};
  for (const Component& part : estimate.components) {
    double& sum = part.name == "sensor_offset" ? whole.offset_j
                  : part.is_accuracy           ? whole.gain_j
                                               : whole.other_j;
    sum = std::hypot(sum, part.joules);
  }
  return whole;
}

std::vector<PlacedInterval> request_intervals(const FleetPower& curve,
                                              std::span<const SharingRequest> requests,
                                              const TimeResolution& time,
                                              const WholeEnergy& whole) {
  const RequestPlaces places(curve, requests, time);
  std::vector<PlacedInterval> intervals;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PlacedInterval& interval = intervals.emplace_back();
    interval.none = kTooShort;
    if (requests[i].in_flight.duration_s() < time.shortest_s()) continue;
    interval = interval_of(places.of(i), whole);
    if (interval.high_j - interval.joules > kMostHalfShare * interval.joules) {
      interval = {.none = "not_resolved"};
    }
  }
  return intervals;
}

PlacedInterval requests_interval(const FleetPower& curve, std::span<const SharingRequest> requests,
                                 const std::vector<bool>& counts, const TimeResolution& time,
                                 const WholeEnergy& whole) {
  const RequestPlaces places(curve, requests, time);
  Places sum;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (counts[i]) sum.add(places.of(i));
  }
  return interval_of(sum, whole);
}

void PlacedShare::add(const PlacedShare& other) {
  middle.add(other.middle);
  earlier.add(other.earlier);
  later.add(other.later);
  seconds.add(other.seconds);
  unseen_j2 += other.unseen_j2;
}

PlacedShares placed_shares(const PowerTrace& power, IntervalStore& intervals,
                           const AttributionRules& rules, const TimeResolution& time) {
  PlacedShares placed;
  const auto take = [&](const PowerTrace& curve, double later_s, EnergyShare PlacedShare::*place) {
    AttributionRules moved = rules;
    moved.each = nullptr;
    moved.sensor_period_s = time.shortest_s();
    moved.shift_s += later_s;
    moved.window = {rules.window.start_unix_s + later_s, rules.window.end_unix_s + later_s};
    EnergyShares shares;
    attribute_energy(curve, intervals, moved, shares);
    if (placed.by_name.size() < shares.by_name.size()) placed.by_name.resize(shares.by_name.size());
    for (std::size_t i = 0; i < shares.by_name.size(); ++i) {
      placed.by_name[i].*place = shares.by_name[i];
    }
    placed.rest.*place = shares.rest;
  };
  take(power, time.age_s, &PlacedShare::middle);
  take(power, time.age_s - time.smear_s() / 2, &PlacedShare::earlier);
  take(power, time.age_s + time.smear_s() / 2, &PlacedShare::later);
  const Window window = rules.window;
  const PowerTrace one_watt("", {{window.start_unix_s, 1}, {window.end_unix_s, 1}},
                            Interpolation::linear);
  take(one_watt, 0, &PlacedShare::seconds);
  const double unseen_w2 = unseen_w2_s(samples_in(power.samples(), window), time);
  for (PlacedShare& share : placed.by_name) {
    share.unseen_j2 = unseen_w2 * share.seconds.energy_j.value();
  }
  placed.rest.unseen_j2 = unseen_w2 * placed.rest.seconds.energy_j.value();
  return placed;
}

PlacedInterval share_interval(const PlacedShare& share, const WholeEnergy& whole) {
  if (share.middle.short_calls > 0) return {.none = kTooShort};
  Places places{share.middle.energy_j.value(), share.earlier.energy_j.value(),
                share.later.energy_j.value(), share.seconds.energy_j.value()};
  places.unseen_j = std::sqrt(share.unseen_j2);
  return interval_of(places, whole);
}

}  // namespace aggregate_power
