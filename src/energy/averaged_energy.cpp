// Undoes averaging and delay by the posterior of the power.
#include <algorithm>
#include <cmath>
#include <vector>

#include "energy/placed_readings.h"
#include "energy/power_pace.h"
#include "energy/power_posterior.h"
#include "energy/sensor_energy.h"

namespace aggregate_power {
namespace {

// A jump this close to an edge of the window may be that edge.
constexpr double kEdgeReach_s = 0.3;
// How much more probable it is beforehand that a load begins and ends with the benchmark.
constexpr double kLogPriorOfEdge = 3;
// What averages hide at the window's edges: loads that alternate within them.
constexpr double kHiddenShare = 0.006;
constexpr double kPartTimeShare = 0.01;

// A jump that may be at an edge, with the load inside the window.
std::vector<PowerJump> with_load_inside(std::vector<PowerJump> jumps, Window window, bool start,
                                        bool& found) {
  const double edge_unix_s = start ? window.start_unix_s : window.end_unix_s;
  for (PowerJump& jump : jumps) {
    if ((jump.height_w > 0) != start || jump.from_unix_s > edge_unix_s + kEdgeReach_s ||
        jump.to_unix_s < edge_unix_s - kEdgeReach_s) {
      continue;
    }
    found = true;
    if (start) {
      jump.from_unix_s = edge_unix_s;
      jump.to_unix_s = std::max(jump.to_unix_s, edge_unix_s + 0.2);
    } else {
      jump.from_unix_s = std::min(jump.from_unix_s, edge_unix_s - 0.2);
      jump.to_unix_s = edge_unix_s;
    }
  }
  return jumps;
}

PowerPosterior posterior_of(std::span<const PlacedReading> readings, double window_s,
                            const PaceFinding& found, std::span<const PowerJump> jumps,
                            Window window) {
  return PowerPosterior({readings, window_s, found.pace, jumps, window});
}

// The jumps under one of the assumptions about the load's edges.
struct Possibility {
  std::vector<PowerJump> jumps;
  double log_prior = 0;
  bool assumes_edge = false;
};

std::vector<Possibility> possibilities(const std::vector<PowerJump>& jumps, Window window) {
  std::vector<Possibility> all = {{jumps}};
  for (const bool start : {true, false}) {
    const std::size_t count = all.size();
    for (std::size_t i = 0; i < count; ++i) {
      bool found = false;
      std::vector<PowerJump> inside = with_load_inside(all[i].jumps, window, start, found);
      if (found) all.push_back({std::move(inside), all[i].log_prior + kLogPriorOfEdge, true});
    }
  }
  return all;
}

// Energy of a mixture of possibilities.
struct Mixture {
  double joules = 0;
  double variance_j2 = 0;
  double log_evidence = 0;
  Possibility best;
};

Mixture mix(std::span<const PlacedReading> readings, double window_s, const PaceFinding& found,
            Window window) {
  struct Member {
    PowerPosterior::Energy energy;
    double log_weight;
  };
  std::vector<Member> members;
  Mixture mixture;
  double best = 0;
  for (Possibility& possibility : possibilities(found.jumps, window)) {
    const PowerPosterior posterior =
        posterior_of(readings, window_s, found, possibility.jumps, window);
    const double log_weight = posterior.log_evidence() + possibility.log_prior;
    members.push_back({posterior.energy(window), log_weight});
    if (members.size() == 1 || log_weight > best) {
      best = log_weight;
      mixture.best = std::move(possibility);
    }
  }
  double sum = 0;
  for (Member& member : members) sum += member.log_weight = std::exp(member.log_weight - best);
  for (const Member& member : members) {
    mixture.joules += member.log_weight / sum * member.energy.joules;
  }
  for (const Member& member : members) {
    const double off_j = member.energy.joules - mixture.joules;
    mixture.variance_j2 += member.log_weight / sum * (member.energy.variance_j2 + off_j * off_j);
  }
  mixture.log_evidence = best + std::log(sum);
  return mixture;
}

// The readings that bear on the window, and some around it for the pace.
std::vector<PlacedReading> near_window(std::vector<PlacedReading> readings, double window_s,
                                       Window window) {
  const double margin_s = 6 + 2 * window_s;
  std::erase_if(readings, [&](const PlacedReading& reading) {
    return reading.end_unix_s < window.start_unix_s - margin_s ||
           reading.end_unix_s > window.end_unix_s + margin_s;
  });
  return readings;
}

}  // namespace

SensorEnergy averaged_energy(const SensorEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  const Window window = question.window;
  std::vector<PlacedReading> readings =
      near_window(place_readings(question.samples, sensor), sensor.window_s, window);
  const PaceFinding found = find_pace(readings, sensor.window_s);
  const Mixture mixture = mix(readings, sensor.window_s, found, window);
  const std::vector<PowerJump>& jumps = mixture.best.jumps;
  const double base_j =
      posterior_of(readings, sensor.window_s, found, jumps, window).energy(window).joules;

  SensorEnergy result;
  result.joules = mixture.joules;
  result.log_evidence = mixture.log_evidence;
  result.assumes_load_in_window = mixture.best.assumes_edge;
  const double mean_w = mixture.joules / window.duration_s();
  const double hidden_j = kHiddenShare * mean_w * std::min(1.0, sensor.window_s);
  result.sampling_j = std::hypot(std::sqrt(mixture.variance_j2), hidden_j * std::sqrt(2.0));

  const double timing_s = std::hypot(question.timing_s, sensor.delay_uncertainty_s);
  std::vector<PlacedReading> later = readings;
  for (PlacedReading& reading : later) reading.end_unix_s += timing_s;
  result.timing_j = std::abs(
      posterior_of(later, sensor.window_s, found, jumps, window).energy(window).joules - base_j);
  result.rate_w = result.timing_j / timing_s;
  if (sensor.is_averaged()) {
    const double longer_s = sensor.window_s * (1 + sensor.window_uncertainty);
    result.window_known_j = std::abs(
        posterior_of(readings, longer_s, found, jumps, window).energy(window).joules - base_j);
  }
  if (sensor.is_part_time()) result.not_seen_j = kPartTimeShare * mixture.joules;

  std::vector<Sample> shifted(question.samples.begin(), question.samples.end());
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  for (Sample& sample : shifted) sample.unix_s -= age_s;
  const double shifted_j = line_energy_j(shifted, window);
  result.shift_j = shifted_j - line_energy_j(question.samples, window);
  result.edges_j = result.joules - shifted_j;
  return result;
}

SensorEnergy sensor_energy(const SensorEnergyQuestion& question) {
  return question.sensor.sees_moments(median_period_s(question.samples))
             ? moment_energy(question)
             : averaged_energy(question);
}

}  // namespace aggregate_power
