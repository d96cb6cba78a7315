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

// How much more probable it is beforehand that a load begins with the window (or with the end of
// one that is a pause), and that it ends with it: work that goes on after the last answer is more
// common than work before the first question.
constexpr double kLogPriorOfRise = 3;
constexpr double kLogPriorOfFall = 1;
// What averages hide at the window's edges: loads that alternate within them.
constexpr double kHiddenShare = 0.006;
// How much power may swing inside averages without any trace in them, as a share.
constexpr double kHiddenSwing = 0.0045;
constexpr double kMostSwing = 0.008;
// What the walk leaves open between readings that see all time, of its standard deviation: real
// loads turn back less often than a walk does, and rise and fall once at an edge.
constexpr double kOfWalk = 0.65;
constexpr double kOfWalkWithSteps = 0.85;
constexpr double kMissesEdges = 0.25;  // share of the time that is missed
// The work grows with the window.
constexpr double kLongWindow_s = 300;

// The power under one of the assumptions about the load's edges.
struct Possibility {
  std::vector<PowerJump> jumps;
  std::vector<PowerJump> sharp_jumps;  // the same, if a load begins or ends with the window at once
  Window active;
  double log_prior = 0;
  bool assumes_edge = false;
};

// What is known of the readings, whatever is assumed about edges.
struct Evidence {
  std::vector<PlacedReading> readings;
  double missed = 0;  // share of the time that no reading sees, over what one sees; at most 1
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
  const std::vector<PowerJump>& found = evidence.found.jumps;
  std::vector<Possibility> all = {{found, found, {-kEver, kEver}}};
  const auto branch = [&](const PowerJump& free, double edge_unix_s, bool is_of_load, auto limit) {
    const std::optional<PowerJump> beside = beside_edge(free, edge_unix_s);
    std::vector<Possibility> next;
    for (const Possibility& one : all) {
      next.push_back(one);
      next.back().jumps.push_back(free);
      next.back().sharp_jumps.push_back(free);
      if (is_of_load) limit(next.back().active, free);
      if (!beside) continue;
      next.push_back(one);
      next.back().jumps.push_back(*beside);
      next.back().sharp_jumps.push_back({edge_unix_s, edge_unix_s, beside->height_w});
      next.back().log_prior += free.height_w > 0 ? kLogPriorOfRise : kLogPriorOfFall;
      next.back().assumes_edge |= is_of_load;
      if (is_of_load) limit(next.back().active, *beside);
    }
    all = std::move(next);
  };
  if (const auto& start = evidence.edges.start) {
    branch(*start, evidence.window.start_unix_s, start->height_w > 0,
           [](Window& active, const PowerJump& jump) { active.start_unix_s = jump.from_unix_s; });
  }
  if (const auto& end = evidence.edges.end) {
    branch(*end, evidence.window.end_unix_s, end->height_w < 0,
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
  const auto add = [&](const Possibility& possibility) {
    const PowerPosterior posterior = posterior_of(evidence, possibility);
    members.push_back(
        {posterior.energy(evidence.window), posterior.log_evidence() + possibility.log_prior});
  };
  Mixture mixture;
  double best = 0;
  for (Possibility& possibility : possibilities(evidence)) {
    add(possibility);
    if (members.size() > 1 && members.back().log_weight <= best) continue;
    best = members.back().log_weight;
    mixture.best = std::move(possibility);
    mixture.best_j = members.back().energy.joules;
  }
  // Where readings leave an edge out, nothing says whether it is slow or sharp.
  if (mixture.best.assumes_edge && evidence.missed > kMissesEdges) {
    Possibility sharp = mixture.best;
    sharp.jumps = sharp.sharp_jumps;
    add(sharp);
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

bool overlap(const PowerJump& jump, const std::optional<PowerJump>& edge) {
  return edge && jump.from_unix_s < edge->to_unix_s && edge->from_unix_s < jump.to_unix_s;
}

Evidence gather(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  Evidence evidence;
  evidence.window = question.window;
  evidence.sensor_window_s = sensor.window_s;
  evidence.window_uncertainty = uncertainty_of_window(sensor);
  evidence.missed = std::clamp(question.series.period_s() / sensor.window_s - 1, 0.0, 1.0);
  evidence.readings = near_window(place_readings(question.series.samples(), sensor),
                                  sensor.window_s, question.window);
  const Window own = without_other_loads(question.series.samples(), question.window);
  std::erase_if(evidence.readings, [&](const PlacedReading& reading) {
    return !own.contains(reading.end_unix_s + sensor.delay_s);
  });
  evidence.edges = window_edges(evidence.readings, sensor.window_s, question.window);
  if (!question.may_begin) evidence.edges.start.reset();
  if (!question.may_end) evidence.edges.end.reset();
  // The pace of the load counts, which is outside of a pause.
  const auto& [start, end] = evidence.edges;
  const bool is_pause = (start && start->height_w < 0) || (end && end->height_w > 0);
  std::vector<PlacedReading> loaded;
  for (const PlacedReading& reading : evidence.readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - sensor.window_s;
    const auto is_after = [&](const PowerJump& edge) {
      return start_unix_s >= edge.to_unix_s - 0.1;
    };
    const auto is_before = [&](const PowerJump& edge) {
      return reading.end_unix_s <= edge.from_unix_s + 0.1;
    };
    const bool is_loaded = is_pause ? (start && is_before(*start)) || (end && is_after(*end))
                                    : (!start || is_after(*start)) && (!end || is_before(*end));
    if (is_loaded) loaded.push_back(reading);
  }
  const bool enough = loaded.size() >= 6;
  evidence.found = find_pace(enough ? loaded : evidence.readings, sensor.window_s);
  if (is_pause) evidence.found.jumps = find_pace(evidence.readings, sensor.window_s).jumps;
  std::erase_if(evidence.found.jumps, [&](const PowerJump& jump) {
    return overlap(jump, evidence.edges.start) || overlap(jump, evidence.edges.end);
  });
  const double idle_w = std::ranges::min(evidence.readings, {}, &PlacedReading::watts).watts;
  evidence.still = {std::pow(0.01 * idle_w, 2), std::pow(0.02 * idle_w, 2) * 0.1};
  return evidence;
}

// By how much the power outside of an edge of the window differs from what is inside.
double step_at_w(const Evidence& evidence, double edge_unix_s) {
  constexpr double kLeastWindows = 3;  // of the sensor
  if (evidence.window.duration_s() < kLeastWindows * evidence.sensor_window_s) return 0;
  const PlacedReading* before = nullptr;
  for (const PlacedReading& reading : evidence.readings) {
    if (reading.end_unix_s <= edge_unix_s) before = &reading;
    const bool is_after =
        reading.end_unix_s - reading.age_s - evidence.sensor_window_s >= edge_unix_s;
    if (before != nullptr && is_after) return std::abs(reading.watts - before->watts);
  }
  return 0;
}

// A standard uncertainty: a step of the power is as uncertain in time as the age of the reading
// that shows it. One at the window's edge is sharper than a walk, which leaves a tenth of the
// sensor's window open.
double steps_j(const Evidence& evidence, const SensorModel& sensor) {
  constexpr double kOfWindow = 0.1;
  double squares_j2 = 0;
  for (const PowerJump& jump : evidence.found.jumps) {
    const double middle_unix_s = (jump.from_unix_s + jump.to_unix_s - sensor.window_s) / 2;
    if (!evidence.window.contains(middle_unix_s)) continue;
    squares_j2 += std::pow(jump.height_w * sensor.refresh_s, 2) / 12;
  }
  const auto add_edge = [&](const std::optional<PowerJump>& known, double edge_unix_s) {
    if (known) return;
    squares_j2 += std::pow(step_at_w(evidence, edge_unix_s) * kOfWindow * sensor.window_s, 2);
  };
  add_edge(evidence.edges.start, evidence.window.start_unix_s);
  add_edge(evidence.edges.end, evidence.window.end_unix_s);
  return std::sqrt(squares_j2);
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
  const bool has_edge = evidence.edges.start || evidence.edges.end;
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

// By the posterior of the power.
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
  // What the walk leaves open is all open in time that no reading sees.
  const double seen = evidence.found.has_jumps ? kOfWalkWithSteps : kOfWalk;
  const double missed = few_readings(evidence.readings.size());
  const double walk_j = (seen + (missed - seen) * evidence.missed) * std::sqrt(mixture.variance_j2);
  const double steps = std::hypot(steps_j(evidence, sensor),
                                  smeared_j(evidence.readings, sensor.window_s, evidence.window));
  result.sampling_j = std::hypot(walk_j, hidden_j * std::sqrt(2.0), steps);
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

double few_readings(std::size_t readings) {
  const double more = static_cast<double>(readings) - 3;
  return more > 2 ? std::sqrt((more + 2) / more) : 1;
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

constexpr double kReachOfEdge_s = 2;   // beyond that the load does not begin with the window
constexpr double kLeastStep = 0.4;     // of the power of a load, between it and idle
constexpr double kStillShare = 0.08;   // of the step; idle moves by less
constexpr double kSurroundings_s = 8;  // whose readings bear on the window
constexpr double kUsualMean_s = 1;     // of a sensor: the same readings are compared for all
constexpr double kUsualRefresh_s = 0.1;
constexpr double kLeastStill_s = 2;      // between a load and another one
constexpr double kTolerance_s = 0.03;    // of delay and clock
constexpr double kLongestFall_s = 0.35;  // from the first request that ends to the last one
constexpr double kLongestRise_s = 0.4;
constexpr double kLeastEdge_s = 0.2;    // of either, as readings are late by some of that
constexpr std::size_t kFewestIdle = 2;  // readings that show what idle is
constexpr double kFullShare = 0.98;     // of the step: a reading that high shows nothing but load
constexpr double kLongestEdge_s = 4;    // from nothing but idle to nothing but load

// Power on one side of the window and in it: idle and load, or a load and the pause after it.
struct LoadStep {
  double outside_w = 0;
  double height_w = 0;     // negative: less in the window
  double least_share = 0;  // a reading that far from outside shows what is in the window
  std::size_t still = 0;   // readings that show what is outside

  double share_of(double watts) const { return (watts - outside_w) / height_w; }
};

// Readings of one side, the nearest first, or those inside of the window.
struct SideReadings {
  std::vector<double> watts;
  std::vector<double> end_unix_s;

  void add(const PlacedReading& reading) {
    watts.push_back(reading.watts);
    end_unix_s.push_back(reading.end_unix_s);
  }
};

// How many of one side show the same as the nearest one: others may be of another load.
std::size_t still_beside(const SideReadings& outside, double inside_w) {
  const double height_w = std::abs(inside_w - outside.watts[0]);
  const auto alike_within = [&](double share) {
    const auto other = std::ranges::find_if(outside.watts, [&](double watts) {
      return std::abs(watts - outside.watts[0]) > share * height_w;
    });
    return static_cast<std::size_t>(other - outside.watts.begin());
  };
  if (alike_within(2 * kStillShare) == outside.watts.size()) return outside.watts.size();
  const std::size_t still = alike_within(kStillShare);
  if (still < kFewestIdle) return still;
  const double lasts_s = std::abs(outside.end_unix_s[still] - outside.end_unix_s[0]);
  return lasts_s >= kLeastStill_s ? still : 0;
}

// The power in the window: its median, or what is next to the edge, if that differs from outside by
// far more.
double level_beside_w(const SideReadings& outside, const SideReadings& inside, double nearest_w) {
  constexpr double kFarMore = 1.25;
  const double median_w = quantile_of(inside.watts, 0.5);
  const double median_step_w = std::abs(median_w - outside.watts[0]);
  return std::abs(nearest_w - outside.watts[0]) > kFarMore * median_step_w ? nearest_w : median_w;
}

// `nearest_w`: the reading inside that is next to the edge.
std::optional<LoadStep> step_beside(const SideReadings& outside, const SideReadings& inside,
                                    double nearest_w) {
  if (outside.watts.empty()) return std::nullopt;
  const double inside_w = level_beside_w(outside, inside, nearest_w);
  LoadStep step;
  step.still = still_beside(outside, inside_w);
  if (step.still < kFewestIdle) return std::nullopt;
  const auto still = std::span(outside.watts).first(step.still);
  step.outside_w = quantile_of({still.begin(), still.end()}, 0.5);
  step.height_w = inside_w - step.outside_w;
  const double height_w = std::abs(step.height_w);
  double moves_w = 0;
  for (const double watts : still) moves_w = std::max(moves_w, std::abs(watts - step.outside_w));
  // A pause is still, too.
  if (step.height_w < 0)
    moves_w = std::max(moves_w, quantile_of(inside.watts, 0.9) - quantile_of(inside.watts, 0.1));
  if (height_w < kLeastStep * std::max(inside_w, step.outside_w) ||
      moves_w > kStillShare * height_w) {
    return std::nullopt;
  }
  step.least_share = std::max(2 * moves_w / height_w, 0.02);
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
    if (step.share_of(readings[i].watts) >= kFullShare) {
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
    if (step.share_of(readings[i].watts) >= kFullShare) {
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
  SideReadings before;
  SideReadings inside;
  SideReadings after;
};

Sides sides_at(std::span<const PlacedReading> readings, double window_s, Window window,
               double apart_s) {
  Sides sides;
  for (const PlacedReading& reading : readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - window_s;
    if (reading.end_unix_s <= window.start_unix_s - apart_s) {
      sides.before.add(reading);
    } else if (start_unix_s >= window.end_unix_s + apart_s) {
      sides.after.add(reading);
    } else if (start_unix_s >= window.start_unix_s && reading.end_unix_s <= window.end_unix_s) {
      sides.inside.add(reading);
    }
  }
  std::ranges::reverse(sides.before.watts);
  std::ranges::reverse(sides.before.end_unix_s);
  return sides;
}

// The step at one side, and the number of readings that are surely on it. A load may reach out of
// the window: what is outside is what readings farther away show, if there are some.
struct SideStep {
  std::optional<LoadStep> step;
  std::size_t readings = 0;
};

SideStep side_step(const Sides& near, const Sides& far, SideReadings Sides::*side) {
  const std::size_t readings = (near.*side).watts.size();
  if (near.inside.watts.size() < 2) return {std::nullopt, readings};
  const double nearest_w =
      side == &Sides::before ? near.inside.watts.front() : near.inside.watts.back();
  if (const auto step = step_beside(far.*side, near.inside, nearest_w))
    return {step, (far.*side).watts.size()};
  return {step_beside(near.*side, near.inside, nearest_w), readings};
}

}  // namespace

Window without_other_loads(std::span<const Sample> samples, Window window) {
  std::vector<PlacedReading> readings;
  for (const Sample& sample : samples_in(
           samples, {window.start_unix_s - kSurroundings_s, window.end_unix_s + kSurroundings_s})) {
    readings.push_back({sample.watts, sample.unix_s, kUsualRefresh_s});
  }
  const Sides near = sides_at(readings, kUsualMean_s, window, -kTolerance_s);
  const Sides far = sides_at(readings, kUsualMean_s, window, kReachOfEdge_s);
  constexpr double kEver = std::numeric_limits<double>::infinity();
  Window own = {-kEver, kEver};
  if (const auto [step, before] = side_step(near, far, &Sides::before);
      step && step->still < before) {
    own.start_unix_s = readings[before - step->still].end_unix_s;
  }
  if (const auto [step, after] = side_step(near, far, &Sides::after); step && step->still < after) {
    own.end_unix_s = readings[readings.size() - after + step->still - 1].end_unix_s;
  }
  return own;
}

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window) {
  const Sides near = sides_at(readings, window_s, window, -kTolerance_s);
  const Sides far = sides_at(readings, window_s, window, kReachOfEdge_s);
  WindowEdges edges;
  if (const auto [step, before] = side_step(near, far, &Sides::before); step) {
    for (std::size_t i = before; i < readings.size(); ++i) {
      if (step->share_of(readings[i].watts) <= step->least_share) continue;
      const PlacedReading& outside = readings[i - 1];
      const double from_unix_s = outside.end_unix_s - outside.age_s;
      if (from_unix_s > window.start_unix_s + kReachOfEdge_s) break;
      edges.start = jump_between(from_unix_s, full_load_from(readings, i, window_s, *step),
                                 step->height_w, window_s);
      break;
    }
  }
  if (const auto [step, after] = side_step(near, far, &Sides::after); step) {
    for (std::size_t i = readings.size() - after; i-- > 0;) {
      if (step->share_of(readings[i].watts) <= step->least_share) continue;
      const double from_unix_s = readings[i].end_unix_s - readings[i].age_s - window_s;
      const double to_unix_s = readings[i + 1].end_unix_s - window_s;
      if (to_unix_s < window.end_unix_s - kReachOfEdge_s) break;
      edges.end =
          jump_between(full_load_until(readings, i, std::min(from_unix_s, to_unix_s - 0.05), *step),
                       to_unix_s, -step->height_w, window_s);
      break;
    }
  }
  return edges;
}

double smeared_j(std::span<const PlacedReading> readings, double window_s, Window window) {
  const std::vector<double> inside_w = sides_at(readings, window_s, window, 0).inside.watts;
  if (inside_w.size() < 2) return 0;
  const double level_w = quantile_of(inside_w, 0.5);
  const double moves_w = quantile_of(inside_w, 0.9) - quantile_of(inside_w, 0.1);
  const auto height_at = [&](double edge_unix_s) {
    double highest_w = 0;
    for (const PlacedReading& reading : readings) {
      const bool is_beside = reading.end_unix_s - reading.age_s - window_s < edge_unix_s &&
                             reading.end_unix_s > edge_unix_s;
      if (is_beside) highest_w = std::max(highest_w, reading.watts);
    }
    const double height_w = highest_w - level_w;
    const bool is_load = height_w > kLeastStep * highest_w && moves_w <= kStillShare * height_w;
    return is_load ? height_w : 0.0;
  };
  const WindowEdges edges = window_edges(readings, window_s, window);
  const double start_w = edges.start ? 0 : height_at(window.start_unix_s);
  const double end_w = edges.end ? 0 : height_at(window.end_unix_s);
  // A rectangle, from nothing to half of the sensor's window.
  return std::hypot(start_w, end_w) * window_s / 2 / std::sqrt(12.0);
}

std::optional<PowerJump> beside_edge(const PowerJump& jump, double edge_unix_s) {
  if (jump.to_unix_s < edge_unix_s || jump.from_unix_s > edge_unix_s) return std::nullopt;
  if (jump.height_w > 0) {
    const double to = std::max(jump.to_unix_s, edge_unix_s + kLeastEdge_s);
    return PowerJump{edge_unix_s, std::min(to, edge_unix_s + kLongestRise_s), jump.height_w};
  }
  const double from = std::min(jump.from_unix_s, edge_unix_s - kLeastEdge_s);
  return PowerJump{std::max(from, edge_unix_s - kLongestFall_s), edge_unix_s, jump.height_w};
}

}  // namespace aggregate_power
