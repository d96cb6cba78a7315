// Energy from readings that are moments.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/energy/curve.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/readings.h"
#include "energy/uncertainty/uncertainty.h"

namespace aggregate_power {
namespace {

// Straight lines follow a part of what readings have in common with their neighbours, and nothing
// of readings that have nothing in common.
constexpr double kDrawShare = 0.75;

std::vector<PowerJump> earlier(std::vector<PowerJump> jumps, double by_s) {
  for (PowerJump& jump : jumps) {
    jump.from_unix_s -= by_s;
    jump.to_unix_s -= by_s;
  }
  return jumps;
}

// The line around one edge of the window. Where a load begins or ends with the window, no straight
// line leads over that edge.
struct EdgeLine {
  std::vector<Sample> samples;
  bool is_cut = false;
  double cut_j = 0;  // what the cut adds to the energy of the window
};

EdgeLine edge_line(const PowerLine& line, Window window, bool start, double around_s,
                   std::span<const PowerJump> jumps) {
  const double edge = start ? window.start_unix_s : window.end_unix_s;
  EdgeLine found = {line.samples_near({edge - around_s, edge + around_s})};
  std::vector<Sample>& samples = found.samples;
  const auto after = std::ranges::lower_bound(samples, edge, {}, &Sample::unix_s);
  if (after == samples.begin() || after == samples.end()) return found;
  const Sample before = *(after - 1);
  const Sample next = *after;
  const double rise_w = next.watts - before.watts;
  const bool is_jump = std::ranges::any_of(jumps, [&](const PowerJump& jump) {
    return (jump.height_w > 0) == start && jump.from_unix_s <= next.unix_s &&
           jump.to_unix_s >= before.unix_s && std::abs(rise_w) > 0.7 * std::abs(jump.height_w);
  });
  if (!is_jump || (rise_w > 0) != start) return found;
  const Window inside = start ? Window{edge, next.unix_s} : Window{before.unix_s, edge};
  const double uncut_j = PowerLine(samples).energy_j(inside);
  const auto place = after - samples.begin();
  samples.insert(samples.begin() + place, {{edge - 1e-4, before.watts}, {edge + 1e-4, next.watts}});
  found.is_cut = true;
  found.cut_j = PowerLine(samples).energy_j(inside) - uncut_j;
  return found;
}

}  // namespace

double line_energy_j(std::span<const Sample> samples, Window window) {
  const auto first = std::ranges::lower_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  const auto end = std::ranges::upper_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  // Those that a line to the window's inside begins or ends at, and all with their stamps.
  const auto from =
      first == samples.begin()
          ? first
          : std::ranges::lower_bound(samples, (first - 1)->unix_s, {}, &Sample::unix_s);
  const auto to = end == samples.end()
                      ? end
                      : std::ranges::upper_bound(samples, end->unix_s, {}, &Sample::unix_s);
  const std::span<const Sample> bearing(from, to);
  return share_stamps(bearing) ? PowerLine(merged(bearing)).energy_j(window)
                               : PowerLine(bearing).energy_j(window);
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
  const ReadingSeries& series = question.series;
  const PowerLine line = series.line(age_s);
  const double timing_s =
      std::hypot(question.timing_s, sensor.delay_uncertainty_s, sensor.refresh_s / std::sqrt(12));
  const double period_s = series.moment_period_s();
  const PaceFinding& found = series.moment_pace();
  const std::vector<PowerJump> jumps = earlier(found.jumps, age_s);
  const EdgeLine first = edge_line(line, window, true, timing_s, jumps);
  const EdgeLine last = edge_line(line, window, false, timing_s, jumps);
  SensedEnergy result;
  result.assumes_load_in_window = first.is_cut || last.is_cut;
  result.edges_j = first.cut_j + last.cut_j;
  result.joules = line.energy_j(window) + result.edges_j;

  const std::size_t begin = line.first_from(window.start_unix_s);
  const Scatter scatter = series.scatter_around_trend(begin, line.first_after(window.end_unix_s));
  const double count = std::max(1.0, static_cast<double>(scatter.readings));
  const double unseen = std::max(0.0, 1 - sensor.window_s / std::max(period_s, 1e-3));
  const double draws = std::max(1.0, kDrawShare * kDrawShare * scatter.alike);
  const double draw_w =
      few_readings(scatter.readings) * std::sqrt(unseen * scatter.variance_w2 * draws / count);
  result.moments_j = draw_w * window.duration_s();

  // What passes the edges if the readings are that much later, and what comes back if earlier.
  const auto passed_j = [&](const EdgeLine& edge, double from_unix_s) {
    return PowerLine(edge.samples).energy_j({from_unix_s, from_unix_s + timing_s});
  };
  const auto change_j = [&](double later_s) {
    return passed_j(first, window.start_unix_s + later_s) -
           passed_j(last, window.end_unix_s + later_s);
  };
  result.rate_w = larger_change(change_j(-timing_s), change_j(0)) / timing_s;
  result.timing_j = std::abs(result.rate_w) * timing_s;
  // Where each edge is between two readings.
  const double first_w = PowerLine(first.samples).watts_at(window.start_unix_s);
  const double last_w = PowerLine(last.samples).watts_at(window.end_unix_s);
  const double step_w = std::sqrt(std::max(found.pace.walk_w2_per_s * period_s, 0.0));
  result.sampling_j = std::hypot(step_w * period_s, 0.002 * (first_w + last_w) * period_s);
  result.not_seen_j = in_step_share(sensor, period_s) * result.joules;
  result.shift_j = series.line().later_energy_change_j(window, age_s);
  return result;
}

}  // namespace aggregate_power
