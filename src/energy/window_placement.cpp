// Slides a window of fixed length along the power of all devices.
#include "energy/window_placement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace aggregate_power {
namespace {

constexpr double kKept_s = 15;   // of the range is kept, to see what lies beside the load
constexpr double kBeside_s = 5;  // of power is compared on either side of an edge
constexpr double kLeastBeside_s = 0.5;
constexpr double kClearEdgeShare = 0.05;  // of the load's power is a clear edge
constexpr double kBusyShare = 0.25;       // of the load's power above idle is another load
constexpr double kSensor_s = 1;           // the longest common averaging of a sensor
constexpr double kStep_s = 0.1;
constexpr double kMostSteps = 2000;

// The power of one device.
struct PlacedDevice {
  std::span<const Sample> samples;
  std::vector<double> energy_j = {0};  // up to each sample

  explicit PlacedDevice(std::span<const Sample> all) : samples(all) {
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const Sample& before = samples[i - 1];
      const Sample& sample = samples[i];
      energy_j.push_back(energy_j.back() +
                         (sample.unix_s - before.unix_s) * (sample.watts + before.watts) / 2);
    }
  }
  double energy_until_j(double unix_s) const;
  bool covers(double start_s, double end_s) const {
    return samples.front().unix_s <= start_s && samples.back().unix_s >= end_s;
  }
};

struct Candidate {
  double start_s = 0;
  double energy_j = 0;
};

struct PlacementEdges {
  double tolerance_j = 0;  // how much less energy a placement may have than the best one
  double smeared_j = 0;    // how much of the load's energy may be outside of the best one
  double idle_w = 0;       // of all devices, beside the load
};

double PlacedDevice::energy_until_j(double unix_s) const {
  const auto next = std::ranges::upper_bound(samples, unix_s, {}, &Sample::unix_s);
  if (next == samples.begin()) return 0;
  const auto i = static_cast<std::size_t>(next - samples.begin()) - 1;
  if (next == samples.end()) return energy_j[i];
  const double share = (unix_s - samples[i].unix_s) / (next->unix_s - samples[i].unix_s);
  const double watts = samples[i].watts + share * (next->watts - samples[i].watts);
  return energy_j[i] + (unix_s - samples[i].unix_s) * (samples[i].watts + watts) / 2;
}

struct Placing {
  PlacementRange range;
  std::vector<PlacedDevice> devices;

  std::optional<double> energy_j(double start_s, double end_s) const;
  std::optional<double> mean_w(double start_s, double end_s) const;
  std::size_t steps() const;
  std::vector<Candidate> candidates() const;  // those that every device covers
  double period_s() const;
  double resolution_s() const { return std::max(kSensor_s, period_s()); }
  double recorded_before_s(double start_s, double most_s) const;
  double recorded_after_s(double end_s, double most_s) const;
  std::optional<PlacementEdges> edges(const Candidate& best) const;
  bool is_another_load(const Candidate& other, const Candidate& best,
                       const PlacementEdges& edges) const;
};

std::optional<double> Placing::energy_j(double start_s, double end_s) const {
  double sum_j = 0;
  for (const PlacedDevice& device : devices) {
    if (!device.covers(start_s, end_s)) return std::nullopt;
    sum_j += device.energy_until_j(end_s) - device.energy_until_j(start_s);
  }
  return sum_j;
}

std::optional<double> Placing::mean_w(double start_s, double end_s) const {
  const auto energy = energy_j(start_s, end_s);
  return energy ? std::optional(*energy / (end_s - start_s)) : std::nullopt;
}

std::size_t Placing::steps() const {
  const double length_s = std::max(range.latest_start_s - range.earliest_start_s, 0.0);
  return static_cast<std::size_t>(std::clamp(std::ceil(length_s / kStep_s), 1.0, kMostSteps));
}

std::vector<Candidate> Placing::candidates() const {
  const double length_s = std::max(range.latest_start_s - range.earliest_start_s, 0.0);
  std::vector<Candidate> all;
  for (std::size_t i = 0; i <= steps(); ++i) {
    const double start_s =
        range.earliest_start_s + length_s * static_cast<double>(i) / static_cast<double>(steps());
    if (const auto energy = energy_j(start_s, start_s + range.duration_s)) {
      all.push_back({start_s, *energy});
    }
  }
  return all;
}

// The longest mean interval between the samples of a device.
double Placing::period_s() const {
  double longest_s = 0;
  for (const PlacedDevice& device : devices) {
    const double span_s = device.samples.back().unix_s - device.samples.front().unix_s;
    const auto intervals = static_cast<double>(device.samples.size()) - 1;
    if (intervals > 0) longest_s = std::max(longest_s, span_s / intervals);
  }
  return longest_s;
}

// How much is compared with the load. Next to a command the recorder has little.
double Placing::recorded_before_s(double start_s, double most_s) const {
  if (!range.is_of_command) return most_s;
  double least_s = most_s;
  for (const PlacedDevice& device : devices) {
    least_s = std::min(least_s, start_s - device.samples.front().unix_s);
  }
  return std::max(least_s, kLeastBeside_s);
}

double Placing::recorded_after_s(double end_s, double most_s) const {
  if (!range.is_of_command) return most_s;
  double least_s = most_s;
  for (const PlacedDevice& device : devices) {
    least_s = std::min(least_s, device.samples.back().unix_s - end_s);
  }
  return std::max(least_s, kLeastBeside_s);
}

// Returns nullopt if the load does not stand out. A load that begins or ends with its command need
// not do so there.
std::optional<PlacementEdges> Placing::edges(const Candidate& best) const {
  const double end_s = best.start_s + range.duration_s;
  const double beside_s = std::min(kBeside_s, range.duration_s / 2);
  const auto before =
      mean_w(best.start_s - recorded_before_s(best.start_s, beside_s), best.start_s);
  const auto after = mean_w(end_s, end_s + recorded_after_s(end_s, beside_s));
  const auto first = mean_w(best.start_s, best.start_s + beside_s);
  const auto last = mean_w(end_s - beside_s, end_s);
  if (!first || !last) return std::nullopt;
  const double near_s = range.is_of_command ? resolution_s() : -1;
  const bool may_begin = best.start_s <= range.earliest_start_s + near_s;
  const bool may_end = best.start_s >= range.latest_start_s - near_s;
  const double load_w = best.energy_j / range.duration_s;
  const double least_w = kClearEdgeShare * load_w;
  const double rise_w = before ? *first - *before : 0;
  const double fall_w = after ? *last - *after : 0;
  if ((rise_w < least_w && !may_begin) || (fall_w < least_w && !may_end)) return std::nullopt;
  const double step_w = std::max({rise_w, fall_w, least_w});
  const double idle_w = std::min(before.value_or(load_w - step_w), after.value_or(load_w - step_w));
  // A step that is smeared over s seconds leaves an eighth of s outside of the best placement,
  // which has as much at either end. Straight lines between moments leave up to half an interval
  // outside, those between means less.
  const double smeared_s = (kSensor_s + 3 * period_s()) / 8;
  const double both_w = std::max(rise_w, 0.0) + std::max(fall_w, 0.0);
  return PlacementEdges{resolution_s() * step_w, smeared_s * both_w, idle_w};
}

// Whether the GPUs are busy in the part of a placement that the best one leaves out, but for the
// slope of its edge.
bool Placing::is_another_load(const Candidate& other, const Candidate& best,
                              const PlacementEdges& edges) const {
  const double end_s = other.start_s + range.duration_s;
  Window outside{std::max(other.start_s, best.start_s + range.duration_s + resolution_s()), end_s};
  if (other.start_s < best.start_s) {
    outside = {other.start_s, std::min(end_s, best.start_s - resolution_s())};
  }
  if (!(outside.duration_s() > 0)) return false;
  const auto outside_w = mean_w(outside.start_unix_s, outside.end_unix_s);
  const double load_w = best.energy_j / range.duration_s;
  return outside_w && *outside_w - edges.idle_w >= kBusyShare * (load_w - edges.idle_w);
}

// The middle of those with the highest energy.
const Candidate& highest(const std::vector<Candidate>& all) {
  constexpr double kEqual = 1e-9;
  const double highest_j = std::ranges::max_element(all, {}, &Candidate::energy_j)->energy_j;
  const auto is_highest = [&](const Candidate& candidate) {
    return candidate.energy_j >= highest_j - kEqual * std::abs(highest_j);
  };
  const auto first = std::ranges::find_if(all, is_highest);
  const auto last = std::find_if_not(first, all.end(), is_highest);
  return *(first + (last - first - 1) / 2);
}

}  // namespace

Window placement_surroundings(PlacementRange range) {
  return {range.earliest_start_s - kKept_s, range.latest_start_s + range.duration_s + kKept_s};
}

std::optional<Placement> find_placement(PlacementRange range, const Samples& samples) {
  Placing placing{range, {}};
  for (const std::vector<Sample>& device : samples.devices()) {
    if (!device.empty()) placing.devices.emplace_back(device);
  }
  const std::vector<Candidate> all = placing.candidates();
  if (placing.devices.empty() || all.empty()) return std::nullopt;
  const Candidate best = highest(all);
  const bool is_inside = range.is_of_command ||
                         (best.start_s > all.front().start_s && best.start_s < all.back().start_s);
  const std::optional<PlacementEdges> clear = is_inside ? placing.edges(best) : std::nullopt;
  // A placement that the recording does not cover may be the right one.
  if (!clear && all.size() < placing.steps() + 1) return std::nullopt;
  const auto remains = [&](const Candidate& candidate) {
    return !clear || candidate.energy_j >= best.energy_j - clear->tolerance_j ||
           placing.is_another_load(candidate, best, *clear);
  };
  const auto distance_s = [&](const Candidate& candidate) {
    return std::abs(candidate.start_s - range.likely_start_s);
  };
  const Candidate chosen = clear ? best : *std::ranges::min_element(all, {}, distance_s);
  Placement placement;
  placement.window = {chosen.start_s, chosen.start_s + range.duration_s};
  placement.energy_j = placement.low_j = placement.high_j = chosen.energy_j;
  placement.is_by_power = clear.has_value();
  placement.is_in_command = range.is_of_command;
  for (const Candidate& candidate : all) {
    if (!remains(candidate)) continue;
    placement.low_j = std::min(placement.low_j, candidate.energy_j);
    placement.high_j = std::max(placement.high_j, candidate.energy_j);
    placement.half_width_s =
        std::max(placement.half_width_s, std::abs(candidate.start_s - chosen.start_s));
  }
  if (!clear) return placement;
  placement.high_j += clear->smeared_j;
  placement.half_width_s = std::max(placement.half_width_s, placing.resolution_s() / 2);
  return placement;
}

}  // namespace aggregate_power
