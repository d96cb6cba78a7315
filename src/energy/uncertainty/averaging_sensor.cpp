// Undoes averaging and delay by the posterior of the power.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/energy/recording_summary.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/uncertainty.h"

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

// ---- Bounds the work for a long window: the posterior is computed where it matters.

namespace {

constexpr double kEdgeStretch_s = 60;
constexpr double kBlock_s = 30;
constexpr int kBlocks = 4;
constexpr double kMargin_s = 20;

Window with_margin(Window window) {
  return {window.start_unix_s - kMargin_s, window.end_unix_s + kMargin_s};
}

// Of a stretch at an edge of the window.
std::span<const Sample> samples_around(std::span<const Sample> samples, Window stretch) {
  return at_least_near(samples, with_margin(stretch), &Sample::unix_s);
}

// Of a part of the window, in which no load begins or ends.
SensedEnergyQuestion part_of(const SensedEnergyQuestion& question, const ReadingSeries& series,
                             Window window) {
  return {.series = series,
          .sensor = question.sensor,
          .window = window,
          .timing_s = question.timing_s,
          .may_begin = false,
          .may_end = false};
}

// Stretches that stand for `middle`.
std::vector<SensedEnergy> blocks_in(const SensedEnergyQuestion& question, Window middle) {
  std::vector<SensedEnergy> blocks;
  const double free_s = middle.duration_s() - kBlocks * kBlock_s;
  for (int i = 0; i < kBlocks; ++i) {
    const double start =
        middle.start_unix_s + free_s * (i + 0.5) / kBlocks + static_cast<double>(i) * kBlock_s;
    const Window block = {start, start + kBlock_s};
    // A pause of the recorder says nothing of the rest.
    const std::span<const Sample> around =
        samples_in(question.series.samples(), with_margin(block));
    if (around.size() < 10) continue;
    const ReadingSeries series(around);
    SensedEnergyQuestion part = part_of(question, series, block);
    part.is_brief = true;
    blocks.push_back(averaged_energy(part));
  }
  return blocks;
}

}  // namespace

SensedEnergy long_averaged_energy(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  const Window window = question.window;
  const Window middle = {window.start_unix_s + kEdgeStretch_s, window.end_unix_s - kEdgeStretch_s};
  const Window start = {window.start_unix_s, middle.start_unix_s};
  const Window end = {middle.end_unix_s, window.end_unix_s};
  const ReadingSeries at_start(samples_around(question.series.samples(), start));
  const ReadingSeries at_end(samples_around(question.series.samples(), end));
  SensedEnergyQuestion first = part_of(question, at_start, start);
  first.may_begin = question.may_begin;
  SensedEnergyQuestion last = part_of(question, at_end, end);
  last.may_end = question.may_end;
  const SensedEnergy head = averaged_energy(first);
  const SensedEnergy tail = averaged_energy(last);
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  // Under straight lines, if the readings are that much older than their stamps.
  const auto older = [&](double from_unix_s, double to_unix_s) {
    return Window{from_unix_s + age_s, to_unix_s + age_s};
  };
  const PowerLine line = question.series.line();
  const double middle_j = line.energy_j(older(middle.start_unix_s, middle.end_unix_s));

  SensedEnergy result;
  result.joules = head.joules + middle_j + tail.joules;
  result.assumes_load_in_window = head.assumes_load_in_window || tail.assumes_load_in_window;
  double block_variance_j2 = 0;
  double block_between_j = 0;
  const std::vector<SensedEnergy> blocks = blocks_in(question, middle);
  double log_evidence = *head.log_evidence + *tail.log_evidence;
  for (const SensedEnergy& block : blocks) {
    const auto count = static_cast<double>(blocks.size());
    block_variance_j2 += block.sampling_j * block.sampling_j / count;
    block_between_j += block.between_windows_j / count;
    log_evidence += *block.log_evidence;
  }
  const double times = middle.duration_s() / kBlock_s;
  result.log_evidence = log_evidence;
  result.sampling_j = std::sqrt(head.sampling_j * head.sampling_j +
                                tail.sampling_j * tail.sampling_j + block_variance_j2 * times);
  result.between_windows_j =
      head.between_windows_j + tail.between_windows_j + block_between_j * times;
  result.window_known_j = head.window_known_j + tail.window_known_j;
  if (!sensor.is_averaged()) {
    result.not_seen_j = in_step_share(sensor, question.series.period_s()) * result.joules;
  }
  // What leaves the edges' stretches enters the middle.
  constexpr double kLater_s = 0.1;
  const double middle_rate_w =
      line.later_energy_change_j(older(middle.start_unix_s, middle.end_unix_s), -kLater_s) /
      kLater_s;
  result.rate_w = head.rate_w + middle_rate_w + tail.rate_w;
  result.timing_j = std::abs(result.rate_w) *
                    std::max(1e-3, std::hypot(question.timing_s, sensor.delay_uncertainty_s));
  result.shift_j = line.later_energy_change_j(window, age_s);
  result.edges_j = head.joules + tail.joules -
                   line.energy_j(older(window.start_unix_s, middle.start_unix_s)) -
                   line.energy_j(older(middle.end_unix_s, window.end_unix_s));
  return result;
}

// ---- Compares readings outside a window with those inside it.

namespace {

constexpr double kReachOfEdge_s = 2;     // beyond that the load does not begin with the window
constexpr double kIdleOfLoad = 0.6;      // idle is below this share of the load's power
constexpr double kStillShare = 0.08;     // of the step; idle moves by less
constexpr double kTolerance_s = 0.03;    // of delay and clock
constexpr double kLongestFall_s = 0.35;  // from the first request that ends to the last one
constexpr double kLongestRise_s = 0.4;
constexpr double kLeastEdge_s = 0.2;    // of either, as readings are late by some of that
constexpr std::size_t kFewestIdle = 2;  // readings that show what idle is
constexpr double kFullShare = 0.98;     // of the step: a reading that high shows nothing but load
constexpr double kLongestEdge_s = 4;    // from nothing but idle to nothing but load

// Idle and load on one side of the window.
struct LoadStep {
  double idle_w = 0;
  double height_w = 0;
  double threshold_w = 0;  // a reading this far from idle shows the load
};

std::optional<LoadStep> step_beside(const std::vector<double>& outside,
                                    const std::vector<double>& inside) {
  if (outside.size() < kFewestIdle || inside.size() < 2) return std::nullopt;
  LoadStep step;
  step.idle_w = quantile_of(outside, 0.5);
  const double load_w = quantile_of(inside, 0.5);
  step.height_w = load_w - step.idle_w;
  double moves_w = 0;
  for (const double watts : outside) moves_w = std::max(moves_w, std::abs(watts - step.idle_w));
  step.threshold_w = std::max(2 * moves_w, 0.02 * step.height_w);
  if (step.idle_w > kIdleOfLoad * load_w || moves_w > kStillShare * step.height_w) {
    return std::nullopt;
  }
  return step;
}

// The rest of an edge that takes longer than a reading: a benchmark's last requests end one after
// the other. Stays at the given instants if no reading near them shows nothing but the load.
double full_load_from(std::span<const PlacedReading> readings, std::size_t rising, double window_s,
                      const LoadStep& step) {
  const double edge_unix_s = readings[rising].end_unix_s;
  for (std::size_t i = rising; i < readings.size(); ++i) {
    const double start_unix_s = readings[i].end_unix_s - window_s;
    if (start_unix_s > edge_unix_s + kLongestEdge_s) break;
    if (readings[i].watts - step.idle_w >= kFullShare * step.height_w) {
      return std::max(edge_unix_s, start_unix_s);
    }
  }
  return edge_unix_s;
}

double full_load_until(std::span<const PlacedReading> readings, std::size_t falling,
                       double from_unix_s, const LoadStep& step) {
  for (std::size_t i = falling + 1; i-- > 0;) {
    const double end_unix_s = readings[i].end_unix_s - readings[i].age_s;
    if (end_unix_s < from_unix_s - kLongestEdge_s) break;
    if (readings[i].watts - step.idle_w >= kFullShare * step.height_w) {
      return std::min(from_unix_s, end_unix_s);
    }
  }
  return from_unix_s;
}

// A slow edge is several steps, one in each of the sensor's windows: their variances add up.
PowerJump jump_between(double from_unix_s, double to_unix_s, double height_w, double window_s) {
  const double steps =
      std::max(1.0, std::round((to_unix_s - from_unix_s) / std::max(window_s, 0.1)));
  return {from_unix_s, to_unix_s, height_w / std::sqrt(steps)};
}

// Readings before, inside and after a window.
struct Sides {
  std::vector<double> before;
  std::vector<double> inside;
  std::vector<double> after;
};

Sides sides_at(std::span<const PlacedReading> readings, double window_s, Window window,
               double apart_s) {
  Sides sides;
  for (const PlacedReading& reading : readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - window_s;
    if (reading.end_unix_s <= window.start_unix_s - apart_s) {
      sides.before.push_back(reading.watts);
    } else if (start_unix_s >= window.end_unix_s + apart_s) {
      sides.after.push_back(reading.watts);
    } else if (start_unix_s >= window.start_unix_s && reading.end_unix_s <= window.end_unix_s) {
      sides.inside.push_back(reading.watts);
    }
  }
  return sides;
}

// A load may reach out of the window: idle is what readings farther away show, if there are some.
Sides sides_of(std::span<const PlacedReading> readings, double window_s, Window window) {
  Sides near = sides_at(readings, window_s, window, -kTolerance_s);
  Sides far = sides_at(readings, window_s, window, kReachOfEdge_s);
  if (far.before.size() >= kFewestIdle) near.before = std::move(far.before);
  if (far.after.size() >= kFewestIdle) near.after = std::move(far.after);
  return near;
}

}  // namespace

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window) {
  const Sides sides = sides_of(readings, window_s, window);
  const auto& [before, inside, after] = sides;
  WindowEdges edges;
  if (const std::optional<LoadStep> step = step_beside(before, inside)) {
    for (std::size_t i = before.size(); i < readings.size(); ++i) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const PlacedReading& idle = readings[i - 1];
      const double from_unix_s = idle.end_unix_s - idle.age_s;
      if (from_unix_s > window.start_unix_s + kReachOfEdge_s) break;
      edges.rise = jump_between(from_unix_s, full_load_from(readings, i, window_s, *step),
                                step->height_w, window_s);
      break;
    }
  }
  if (const std::optional<LoadStep> step = step_beside(after, inside)) {
    for (std::size_t i = readings.size() - after.size(); i-- > 0;) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const double from_unix_s = readings[i].end_unix_s - readings[i].age_s - window_s;
      const double to_unix_s = readings[i + 1].end_unix_s - window_s;
      if (to_unix_s < window.end_unix_s - kReachOfEdge_s) break;
      edges.fall =
          jump_between(full_load_until(readings, i, std::min(from_unix_s, to_unix_s - 0.05), *step),
                       to_unix_s, -step->height_w, window_s);
      break;
    }
  }
  return edges;
}

std::optional<PowerJump> rise_inside(const PowerJump& rise, Window window) {
  const double start = window.start_unix_s;
  if (rise.to_unix_s < start || rise.from_unix_s > start) return std::nullopt;
  const double to = std::max(rise.to_unix_s, start + kLeastEdge_s);
  return PowerJump{start, std::min(to, start + kLongestRise_s), rise.height_w};
}

std::optional<PowerJump> fall_inside(const PowerJump& fall, Window window) {
  const double end = window.end_unix_s;
  if (fall.from_unix_s > end || fall.to_unix_s < end) return std::nullopt;
  const double from = std::min(fall.from_unix_s, end - kLeastEdge_s);
  return PowerJump{std::max(from, end - kLongestFall_s), end, fall.height_w};
}

}  // namespace aggregate_power
