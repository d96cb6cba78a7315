// Energy from readings that are moments.
#include <algorithm>
#include <cmath>
#include <vector>

#include "energy/placed_readings.h"
#include "energy/power_pace.h"
#include "energy/sensor_energy.h"
#include "energy/sum_of.h"

namespace aggregate_power {
namespace {

// Straight lines follow a part of what readings have in common with their neighbours.
constexpr double kDrawShare = 0.75;
constexpr std::size_t kMostLags = 300;

bool share_stamps(std::span<const Sample> samples) {
  return std::ranges::adjacent_find(samples, {}, &Sample::unix_s) != samples.end();
}

// Samples with one stamp count once, as their mean.
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

// Straight lines between samples in time order that are older than their stamps and share none.
class Line {
 public:
  explicit Line(std::span<const Sample> samples, double older_s = 0)
      : samples_(samples), older_s_(older_s) {}

  double unix_s(std::size_t i) const { return samples_[i].unix_s - older_s_; }
  // The first sample from an instant on, or after it; size() if there is none.
  std::size_t first_from(double unix_s) const {
    const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
    return static_cast<std::size_t>(std::ranges::lower_bound(samples_, unix_s, {}, place) -
                                    samples_.begin());
  }
  std::size_t first_after(double unix_s) const {
    const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
    return static_cast<std::size_t>(std::ranges::upper_bound(samples_, unix_s, {}, place) -
                                    samples_.begin());
  }
  std::size_t size() const { return samples_.size(); }

  double watts_at(double at_unix_s) const {
    const std::size_t after = first_from(at_unix_s);
    if (after == 0) return samples_.front().watts;
    if (after == samples_.size()) return samples_.back().watts;
    const Sample& left = samples_[after - 1];
    const Sample& right = samples_[after];
    return left.watts + (at_unix_s - unix_s(after - 1)) / (right.unix_s - left.unix_s) *
                            (right.watts - left.watts);
  }

  double energy_j(Window window) const {
    const Sample start = {window.start_unix_s, watts_at(window.start_unix_s)};
    const Sample end = {window.end_unix_s, watts_at(window.end_unix_s)};
    const auto area = [](Sample left, Sample right) {
      return (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2;
    };
    const std::size_t first = first_after(start.unix_s);
    const std::size_t last = first_from(end.unix_s);
    if (first >= last) return area(start, end);
    const double inside_j =
        sum_of(first, last - 1, [&](std::size_t i) { return area(samples_[i], samples_[i + 1]); });
    return area(start, sample(first)) + inside_j + area(sample(last - 1), end);
  }

  // The samples that bear on a stretch, in their places.
  std::vector<Sample> samples_near(Window stretch) const {
    const std::size_t first = first_from(stretch.start_unix_s);
    const std::size_t end = std::min(first_after(stretch.end_unix_s) + 1, samples_.size());
    std::vector<Sample> near;
    for (std::size_t i = first - std::min<std::size_t>(first, 1); i < end; ++i) {
      near.push_back(sample(i));
    }
    return near;
  }

 private:
  Sample sample(std::size_t i) const { return {unix_s(i), samples_[i].watts}; }

  std::span<const Sample> samples_;
  double older_s_;
};

// How the readings scatter around their mean, and over how many of them they are alike.
struct Scatter {
  std::size_t readings = 0;
  double variance_w2 = 0;
  double alike = 1;
};

Scatter scatter_of(std::span<const Sample> samples) {
  Scatter scatter;
  scatter.readings = samples.size();
  if (samples.size() < 3) return scatter;
  const double count = static_cast<double>(samples.size());
  const double mean_w =
      sum_of(0, samples.size(), [&](std::size_t i) { return samples[i].watts; }) / count;
  const auto product = [&](std::size_t lag) {
    return sum_of(lag, samples.size(), [&](std::size_t i) {
      return (samples[i].watts - mean_w) * (samples[i - lag].watts - mean_w);
    });
  };
  const double squares_w2 = product(0);
  scatter.variance_w2 = squares_w2 / (count - 1);
  if (!(scatter.variance_w2 > 0)) return scatter;
  for (std::size_t lag = 1; lag < std::min(samples.size() / 4, kMostLags); ++lag) {
    const double correlation = product(lag) / squares_w2;
    if (correlation < 0.05) break;
    scatter.alike += 2 * correlation;
  }
  return scatter;
}

// The line around one edge of the window. Where a load begins or ends with the window, no straight
// line leads over that edge.
struct EdgeLine {
  std::vector<Sample> samples;
  bool is_cut = false;
  double cut_j = 0;  // what the cut adds to the energy of the window
};

EdgeLine edge_line(const Line& line, Window window, bool start, double around_s,
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
  const double uncut_j = Line(samples).energy_j(inside);
  const auto place = after - samples.begin();
  samples.insert(samples.begin() + place, {{edge - 1e-4, before.watts}, {edge + 1e-4, next.watts}});
  found.is_cut = true;
  found.cut_j = Line(samples).energy_j(inside) - uncut_j;
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
  return share_stamps(bearing) ? Line(merged(bearing)).energy_j(window)
                               : Line(bearing).energy_j(window);
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
  std::vector<Sample> means;
  std::span<const Sample> samples = question.samples;
  if (share_stamps(samples)) samples = means = merged(samples);
  const Line line(samples, age_s);
  const double timing_s =
      std::hypot(question.timing_s, sensor.delay_uncertainty_s, sensor.refresh_s / std::sqrt(12));
  const double period_s = median_period_s(samples);
  const PaceFinding found = find_pace(samples, age_s);
  const EdgeLine first = edge_line(line, window, true, timing_s, found.jumps);
  const EdgeLine last = edge_line(line, window, false, timing_s, found.jumps);
  SensedEnergy result;
  result.assumes_load_in_window = first.is_cut || last.is_cut;
  result.edges_j = first.cut_j + last.cut_j;
  result.joules = line.energy_j(window) + result.edges_j;

  const std::size_t begin = line.first_from(window.start_unix_s);
  const Scatter scatter =
      scatter_of(samples.subspan(begin, line.first_after(window.end_unix_s) - begin));
  const double count = std::max(1.0, static_cast<double>(scatter.readings));
  const double unseen = std::max(0.0, 1 - sensor.window_s / std::max(period_s, 1e-3));
  const double draw_w =
      kDrawShare * std::sqrt(unseen * scatter.variance_w2 * scatter.alike / count);
  result.moments_j = draw_w * window.duration_s();

  // What passes the edges if the readings are that much later.
  const auto passed_j = [&](const EdgeLine& edge, double unix_s) {
    return Line(edge.samples).energy_j({unix_s - timing_s, unix_s});
  };
  result.rate_w =
      (passed_j(first, window.start_unix_s) - passed_j(last, window.end_unix_s)) / timing_s;
  result.timing_j = std::abs(result.rate_w) * timing_s;
  // Where each edge is between two readings.
  const double first_w = Line(first.samples).watts_at(window.start_unix_s);
  const double last_w = Line(last.samples).watts_at(window.end_unix_s);
  const double step_w = std::sqrt(std::max(found.pace.walk_w2_per_s * period_s, 0.0));
  result.sampling_j = std::hypot(step_w * period_s, 0.002 * (first_w + last_w) * period_s);
  result.not_seen_j = kInStepShare * unseen * result.joules;
  result.shift_j = later_energy_change_j(question.samples, window, age_s);
  return result;
}

}  // namespace aggregate_power
