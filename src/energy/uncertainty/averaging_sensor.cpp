// Undoes averaging and delay by the posterior of the power.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "energy/uncertainty/placed_readings.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/power_posterior.h"
#include "energy/uncertainty/sensor_energy.h"
#include "energy/uncertainty/unseen_power.h"
#include "energy/uncertainty/window_edges.h"

namespace aggregate_power {
namespace {

// How much more probable it is beforehand that a load begins with the benchmark, and that it ends
// with it: work that goes on after the last answer is more common than work before the first
// question.
constexpr double kLogPriorOfRise = 3;
constexpr double kLogPriorOfFall = 1;
// What averages hide at the window's edges: loads that alternate within them.
constexpr double kHiddenShare = 0.006;
// How much power may swing inside averages without any trace in them, as a share.
constexpr double kHiddenSwing = 0.0045;
constexpr double kMostSwing = 0.008;
// What the walk leaves open, of its standard deviation: real loads turn back less often than a walk
// does, and rise and fall once at an edge.
constexpr double kOfWalk = 0.65;
// The work grows with the window.
constexpr double kLongWindow_s = 300;

// The power under one of the assumptions about the load's edges.
struct Possibility {
  std::vector<PowerJump> jumps;
  Window active;
  double log_prior = 0;
  bool assumes_edge = false;
};

// What is known of the readings, whatever is assumed about edges.
struct Evidence {
  std::vector<PlacedReading> readings;
  PaceFinding found;
  WindowEdges edges;
  PowerPace still;  // outside of the load
  Window window;
  double sensor_window_s = 1;
  double window_uncertainty = 0;
};

// A shorter window is known well enough.
double uncertainty_of_window(const SensorModel& sensor) {
  return sensor.is_averaged() ? sensor.window_uncertainty : 0;
}

PowerPosterior posterior_of(const Evidence& evidence, const Possibility& possibility) {
  return PowerPosterior({evidence.readings, evidence.sensor_window_s, evidence.found.pace,
                         possibility.jumps, evidence.window, possibility.active, evidence.still,
                         evidence.window_uncertainty});
}

// Each edge that was found, where the readings allow it and where the window does.
std::vector<Possibility> possibilities(const Evidence& evidence) {
  constexpr double kEver = std::numeric_limits<double>::infinity();
  std::vector<Possibility> all = {{evidence.found.jumps, {-kEver, kEver}}};
  const auto branch = [&](const PowerJump& free, const std::optional<PowerJump>& inside,
                          double log_prior, auto limit) {
    std::vector<Possibility> next;
    for (const Possibility& one : all) {
      next.push_back(one);
      next.back().jumps.push_back(free);
      limit(next.back().active, free);
      if (!inside) continue;
      next.push_back(one);
      next.back().jumps.push_back(*inside);
      next.back().log_prior += log_prior;
      next.back().assumes_edge = true;
      limit(next.back().active, *inside);
    }
    all = std::move(next);
  };
  if (const auto& rise = evidence.edges.rise) {
    branch(*rise, rise_inside(*rise, evidence.window), kLogPriorOfRise,
           [](Window& active, const PowerJump& jump) { active.start_unix_s = jump.from_unix_s; });
  }
  if (const auto& fall = evidence.edges.fall) {
    branch(*fall, fall_inside(*fall, evidence.window), kLogPriorOfFall,
           [](Window& active, const PowerJump& jump) { active.end_unix_s = jump.to_unix_s; });
  }
  return all;
}

// Energy of a mixture of possibilities.
struct Mixture {
  double joules = 0;
  double variance_j2 = 0;
  double log_evidence = 0;
  Possibility best;
  double best_j = 0;  // under that one alone
};

Mixture mix(const Evidence& evidence) {
  struct Member {
    PowerPosterior::Energy energy;
    double log_weight;
  };
  std::vector<Member> members;
  Mixture mixture;
  double best = 0;
  for (Possibility& possibility : possibilities(evidence)) {
    const PowerPosterior posterior = posterior_of(evidence, possibility);
    const double log_weight = posterior.log_evidence() + possibility.log_prior;
    members.push_back({posterior.energy(evidence.window), log_weight});
    if (members.size() == 1 || log_weight > best) {
      best = log_weight;
      mixture.best = std::move(possibility);
      mixture.best_j = members.back().energy.joules;
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

// The readings that bear on the window, and some around it for the pace; the nearest ones where
// others were left out.
std::vector<PlacedReading> near_window(std::vector<PlacedReading> readings, double window_s,
                                       Window window) {
  const double margin_s = 6 + 2 * window_s;
  const std::span<const PlacedReading> near = at_least_near(
      std::span<const PlacedReading>(readings),
      {window.start_unix_s - margin_s, window.end_unix_s + margin_s}, &PlacedReading::end_unix_s);
  return {near.begin(), near.end()};
}

Evidence gather(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  Evidence evidence;
  evidence.window = question.window;
  evidence.sensor_window_s = sensor.window_s;
  evidence.window_uncertainty = uncertainty_of_window(sensor);
  evidence.readings = near_window(place_readings(question.series.samples(), sensor),
                                  sensor.window_s, question.window);
  evidence.edges = window_edges(evidence.readings, sensor.window_s, question.window);
  if (!question.may_begin) evidence.edges.rise.reset();
  if (!question.may_end) evidence.edges.fall.reset();
  // The pace is that of the load.
  std::vector<PlacedReading> loaded;
  const double begin = evidence.edges.rise ? evidence.edges.rise->to_unix_s : -HUGE_VAL;
  const double end = evidence.edges.fall ? evidence.edges.fall->from_unix_s : HUGE_VAL;
  for (const PlacedReading& reading : evidence.readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - sensor.window_s;
    if (start_unix_s >= begin - 0.1 && reading.end_unix_s <= end + 0.1) loaded.push_back(reading);
  }
  const bool enough = loaded.size() >= 6;
  evidence.found = find_pace(enough ? loaded : evidence.readings, sensor.window_s);
  const double idle_w = std::ranges::min(evidence.readings, {}, &PlacedReading::watts).watts;
  evidence.still = {std::pow(0.01 * idle_w, 2), std::pow(0.02 * idle_w, 2) * 0.1};
  return evidence;
}

// By how much the energy changes with one thing that is not known exactly.
double change_j(const Evidence& evidence, const Possibility& possibility, double joules) {
  return posterior_of(evidence, possibility).energy(evidence.window).joules - joules;
}

// What delay, clocks and the length of the sensor's window do to the energy.
void add_changes(const SensedEnergyQuestion& question, const Evidence& evidence,
                 const Mixture& mixture, SensedEnergy& result) {
  const SensorModel& sensor = question.sensor;
  const double timing_s = std::max(1e-3, std::hypot(question.timing_s, sensor.delay_uncertainty_s));
  // Where a load ends with the window, readings that are later change nothing.
  const auto changed_by_j = [&](double later_s) {
    Evidence later = evidence;
    for (PlacedReading& reading : later.readings) reading.end_unix_s += later_s;
    return change_j(later, mixture.best, mixture.best_j);
  };
  const double later_j = changed_by_j(timing_s);
  const bool has_edge = evidence.edges.rise || evidence.edges.fall;
  result.rate_w =
      (has_edge ? larger_change(later_j, -changed_by_j(-timing_s)) : later_j) / timing_s;
  result.timing_j = std::abs(result.rate_w) * timing_s;
  if (!sensor.is_averaged()) return;
  Evidence longer = evidence;
  longer.sensor_window_s *= 1 + sensor.window_uncertainty;
  result.window_known_j = std::abs(change_j(longer, mixture.best, mixture.best_j));
}

void add_corrections(const SensedEnergyQuestion& question, SensedEnergy& result) {
  const SensorModel& sensor = question.sensor;
  const std::span<const Sample> samples = question.series.samples();
  std::vector<Sample> shifted(samples.begin(), samples.end());
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  for (Sample& sample : shifted) sample.unix_s -= age_s;
  const double shifted_j = line_energy_j(shifted, question.window);
  result.shift_j = shifted_j - question.series.line().energy_j(question.window);
  result.edges_j = result.joules - shifted_j;
}

}  // namespace

double in_step_share(const SensorModel& sensor, double period_s) {
  const double looks_s = std::max({period_s, sensor.refresh_s, 1e-3});
  return 0.015 * std::max(0.0, 1 - sensor.window_s / looks_s);
}

double between_windows_share(const SensorModel& sensor, double period_s, double fast_share) {
  if (!sensor.is_averaged() || 2 * period_s <= sensor.window_s) return 0;
  const double apart = std::abs(period_s - sensor.window_s) / sensor.window_s;
  const double time_share = std::hypot(apart, uncertainty_of_window(sensor));
  return std::min(1.0, time_share) * std::clamp(fast_share / 4, kHiddenSwing, kMostSwing);
}

SensedEnergy averaged_energy(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  const Evidence evidence = gather(question);
  const Mixture mixture = mix(evidence);

  SensedEnergy result;
  result.joules = mixture.joules;
  result.log_evidence = mixture.log_evidence;
  result.assumes_load_in_window = mixture.best.assumes_edge;
  const double mean_w = mixture.joules / question.window.duration_s();
  const double hidden_j = kHiddenShare * mean_w * std::min(1.0, sensor.window_s);
  result.sampling_j =
      std::hypot(kOfWalk * std::sqrt(mixture.variance_j2), hidden_j * std::sqrt(2.0));
  if (mean_w > 0) {
    const double fast_w = std::sqrt(evidence.found.pace.fast_w2_s / sensor.window_s);
    result.between_windows_j =
        mixture.joules * between_windows_share(sensor, question.series.period_s(), fast_w / mean_w);
  }
  if (question.is_brief) return result;
  if (!sensor.is_averaged()) {
    result.not_seen_j = in_step_share(sensor, question.series.period_s()) * mixture.joules;
  }
  add_changes(question, evidence, mixture, result);
  add_corrections(question, result);
  return result;
}

SensedEnergy sensor_energy(const SensedEnergyQuestion& question) {
  const auto of_sensor = [&] {
    if (question.sensor.sees_moments(question.series.period_s())) return moment_energy(question);
    return question.window.duration_s() > kLongWindow_s ? long_averaged_energy(question)
                                                        : averaged_energy(question);
  };
  SensedEnergy result = of_sensor();
  // A walk knows no trends, and the stretches that stand for a long window have readings.
  result.sampling_j =
      std::max(result.sampling_j, unseen_j(question.series, question.sensor, question.window));
  return result;
}

}  // namespace aggregate_power
