// Energy from readings that are moments.
#include <algorithm>
#include <cmath>
#include <vector>

#include "energy/placed_readings.h"
#include "energy/power_pace.h"
#include "energy/sensor_energy.h"

namespace aggregate_power {
namespace {

// Straight lines follow a part of what readings have in common with their neighbours.
constexpr double kDrawShare = 0.75;
constexpr std::size_t kMostLags = 300;

double watts_on_line(std::span<const Sample> samples, double unix_s) {
  const auto after = std::ranges::lower_bound(samples, unix_s, {}, &Sample::unix_s);
  if (after == samples.begin()) return samples.front().watts;
  if (after == samples.end()) return samples.back().watts;
  const Sample& right = *after;
  const Sample& left = *(after - 1);
  return left.watts +
         (unix_s - left.unix_s) / (right.unix_s - left.unix_s) * (right.watts - left.watts);
}

std::vector<Sample> merged(std::span<const Sample> samples) {
  std::vector<Sample> found;
  std::size_t same = 0;
  for (const Sample& sample : samples) {
    if (!found.empty() && found.back().unix_s == sample.unix_s) {
      ++same;
      found.back().watts += (sample.watts - found.back().watts) / static_cast<double>(same);
    } else {
      found.push_back(sample);
      same = 1;
    }
  }
  return found;
}

// How the readings scatter around their mean, and over how many of them they are alike.
struct Scatter {
  std::size_t readings = 0;
  double variance_w2 = 0;
  double alike = 1;
};

Scatter scatter_of(std::span<const double> watts) {
  Scatter scatter;
  scatter.readings = watts.size();
  if (watts.size() < 3) return scatter;
  const double count = static_cast<double>(watts.size());
  double mean = 0;
  for (const double one : watts) mean += one / count;
  const auto product = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < watts.size(); ++i) {
      sum += (watts[i] - mean) * (watts[i - lag] - mean);
    }
    return sum;
  };
  scatter.variance_w2 = product(0) / (count - 1);
  if (!(scatter.variance_w2 > 0)) return scatter;
  for (std::size_t lag = 1; lag < std::min(watts.size() / 4, kMostLags); ++lag) {
    const double correlation = product(lag) / product(0);
    if (correlation < 0.05) break;
    scatter.alike += 2 * correlation;
  }
  return scatter;
}

// A load that begins or ends with the window: no straight line leads over that edge.
std::vector<Sample> cut_at_edges(std::vector<Sample> samples, Window window,
                                 std::span<const PowerJump> jumps, bool& cut) {
  for (const bool start : {true, false}) {
    const double edge = start ? window.start_unix_s : window.end_unix_s;
    const auto after = std::ranges::lower_bound(samples, edge, {}, &Sample::unix_s);
    if (after == samples.begin() || after == samples.end()) continue;
    const Sample before = *(after - 1);
    const double rise_w = after->watts - before.watts;
    const bool is_jump = std::ranges::any_of(jumps, [&](const PowerJump& jump) {
      return (jump.height_w > 0) == start && jump.from_unix_s <= after->unix_s &&
             jump.to_unix_s >= before.unix_s && std::abs(rise_w) > 0.7 * std::abs(jump.height_w);
    });
    if (!is_jump || (rise_w > 0) != start) continue;
    const double after_w = after->watts;
    const auto place = after - samples.begin();
    samples.insert(samples.begin() + place, {{edge - 1e-4, before.watts}, {edge + 1e-4, after_w}});
    cut = true;
  }
  return samples;
}

// Without those that no line to the window's inside begins or ends at.
std::span<const Sample> bearing_on(std::span<const Sample> samples, Window window) {
  auto first = std::ranges::lower_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  auto end = std::ranges::upper_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  if (first != samples.begin()) {
    first = std::ranges::lower_bound(samples, (first - 1)->unix_s, {}, &Sample::unix_s);
  }
  if (end != samples.end()) {
    end = std::ranges::upper_bound(samples, end->unix_s, {}, &Sample::unix_s);
  }
  return {first, end};
}

}  // namespace

double line_energy_j(std::span<const Sample> samples, Window window) {
  std::span<const Sample> line = bearing_on(samples, window);
  std::vector<Sample> means;
  if (std::ranges::adjacent_find(line, {}, &Sample::unix_s) != line.end()) {
    means = merged(line);
    line = means;
  }
  double joules = 0;
  Sample left = {window.start_unix_s, watts_on_line(line, window.start_unix_s)};
  const auto add = [&](Sample right) {
    joules += (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2;
    left = right;
  };
  for (const Sample& sample : line) {
    if (sample.unix_s > window.start_unix_s && sample.unix_s < window.end_unix_s) add(sample);
  }
  add({window.end_unix_s, watts_on_line(line, window.end_unix_s)});
  return joules;
}

double later_energy_change_j(std::span<const Sample> samples, Window window, double later_s) {
  // What a stretch that begins here holds.
  const auto passed_j = [&](double from) {
    return later_s < 0 ? -line_energy_j(samples, {from + later_s, from})
                       : line_energy_j(samples, {from, from + later_s});
  };
  return passed_j(window.end_unix_s) - passed_j(window.start_unix_s);
}

SensedEnergy moment_energy(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  const Window window = question.window;
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  std::vector<Sample> samples = merged(question.samples);
  for (Sample& sample : samples) sample.unix_s -= age_s;

  std::vector<PlacedReading> readings;
  std::vector<double> inside;
  for (const Sample& sample : samples) {
    readings.push_back({sample.watts, sample.unix_s, 0});
    if (window.contains(sample.unix_s)) inside.push_back(sample.watts);
  }
  const double period_s = median_period_s(samples);
  const PaceFinding found = find_pace(readings, 0);
  SensedEnergy result;
  const std::vector<Sample> line =
      cut_at_edges(samples, window, found.jumps, result.assumes_load_in_window);
  result.joules = line_energy_j(line, window);

  const Scatter scatter = scatter_of(inside);
  const double count = std::max(1.0, static_cast<double>(scatter.readings));
  const double unseen = std::max(0.0, 1 - sensor.window_s / std::max(period_s, 1e-3));
  const double draw_w =
      kDrawShare * std::sqrt(unseen * scatter.variance_w2 * scatter.alike / count);
  result.moments_j = draw_w * window.duration_s();

  const double timing_s =
      std::hypot(question.timing_s, sensor.delay_uncertainty_s, sensor.refresh_s / std::sqrt(12));
  std::vector<Sample> later = line;
  for (Sample& sample : later) sample.unix_s += timing_s;
  result.rate_w = (line_energy_j(later, window) - result.joules) / timing_s;
  result.timing_j = std::abs(result.rate_w) * timing_s;
  // Where each edge is between two readings.
  const double first_w = watts_on_line(line, window.start_unix_s);
  const double last_w = watts_on_line(line, window.end_unix_s);
  const double step_w = std::sqrt(std::max(found.pace.walk_w2_per_s * period_s, 0.0));
  result.sampling_j = std::hypot(step_w * period_s, 0.002 * (first_w + last_w) * period_s);
  result.not_seen_j = kInStepShare * unseen * result.joules;
  result.shift_j = line_energy_j(samples, window) - line_energy_j(question.samples, window);
  result.edges_j = result.joules - line_energy_j(samples, window);
  return result;
}

}  // namespace aggregate_power
