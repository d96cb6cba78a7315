// Finds the edges of a load in each host's power, and compares their times.
#include "energy/zones/clock_offset.h"

#include <algorithm>
#include <cmath>

#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

constexpr double kAsGood = 0.9;  // places that explain this share of the best one's may be the
                                 // edge too
constexpr double kWidest_s = 5;  // an edge whose place is less certain than this is a slope
constexpr double kNear_s = LoadEdgeFinder::kNear_s;
constexpr auto kSeconds = static_cast<std::size_t>(2 * kNear_s);

// Two levels of power with a step between them.
struct Step {
  double at_s = 0;
  double explained = 0;  // the part of the stretch's variance that the step explains
  bool clear = false;
};

Step step_between(const CurveSums::Stretch& left, const CurveSums::Stretch& right, double sign) {
  if (left.filled < kLeastFilled || right.filled < kLeastFilled) return {};
  const double height_w = sign * (right.mean_w - left.mean_w);
  if (height_w <= 0) return {};
  const double filled = left.filled + right.filled;
  const double noise_w2 =
      (left.filled * left.variance_w2 + right.filled * right.variance_w2) / filled;
  const double noise_w = std::sqrt(noise_w2 * (1 / left.filled + 1 / right.filled));
  Step step;
  step.explained = left.filled * right.filled / filled * height_w * height_w;
  step.clear = height_w >= kClearNoises * noise_w &&
               height_w >= kClearShare * std::max(left.mean_w, right.mean_w);
  return step;
}

// The seconds of the curve with readings, from `begin_s` to `end_s` on the clock.
std::vector<std::ptrdiff_t> filled_between(const PowerCurve& curve, double begin_s, double end_s) {
  std::vector<std::ptrdiff_t> filled;
  for (std::size_t i = 0; i < curve.seconds.size(); ++i) {
    const double at_s = curve.first_s + static_cast<double>(i);
    if (curve.seconds[i].readings > 0 && at_s >= begin_s && at_s < end_s) {
      filled.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }
  return filled;
}

double interval_s(const PowerCurve& curve) {
  const auto filled = filled_between(curve, -INFINITY, INFINITY);
  std::vector<double> distances = {};
  for (std::size_t i = 1; i < filled.size(); ++i) {
    distances.push_back(static_cast<double>(filled[i] - filled[i - 1]));
  }
  return distances.empty() ? 1 : quantile_of(std::move(distances), 0.5);
}

// The edge at which `sign` times the power rises, from `begin_s` to `end_s`.
std::optional<LoadEdge> find_edge(const PowerCurve& curve, double begin_s, double end_s,
                                  double sign) {
  const std::vector<std::ptrdiff_t> filled = filled_between(curve, begin_s, end_s);
  if (filled.empty()) return std::nullopt;
  const CurveSums sums(curve);
  std::vector<Step> steps;
  Step best;
  for (std::size_t i = 1; i < filled.size(); ++i) {
    Step step = step_between(sums.between(filled.front(), filled[i]),
                             sums.between(filled[i], filled.back() + 1), sign);
    step.at_s = curve.first_s + static_cast<double>(filled[i] + filled[i - 1] + 1) / 2;
    if (step.explained > best.explained) best = step;
    steps.push_back(step);
  }
  if (!best.clear) return std::nullopt;
  double uncertainty_s = interval_s(curve) / 2;
  for (const Step& step : steps) {
    if (step.explained < kAsGood * best.explained) continue;
    uncertainty_s = std::max(uncertainty_s, std::abs(step.at_s - best.at_s));
  }
  if (uncertainty_s > std::max(kWidest_s, interval_s(curve))) return std::nullopt;
  return LoadEdge{best.at_s, uncertainty_s};
}

// The correction to each host's stamps, according to one of the edges.
std::vector<std::optional<ClockOffset>> offsets_by(std::span<const LoadEdges> hosts,
                                                   std::optional<LoadEdge> LoadEdges::*edge) {
  std::vector<double> times;
  for (const LoadEdges& host : hosts) {
    if (host.*edge) times.push_back((host.*edge)->unix_s);
  }
  std::vector<std::optional<ClockOffset>> offsets(hosts.size());
  if (times.size() < 2) return offsets;
  const double right_s = quantile_of(std::move(times), 0.5);
  double right_uncertainty_s = INFINITY;
  for (const LoadEdges& host : hosts) {
    if (!(host.*edge) || (host.*edge)->unix_s != right_s) continue;
    right_uncertainty_s = std::min(right_uncertainty_s, (host.*edge)->uncertainty_s);
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::optional<LoadEdge>& found = hosts[i].*edge;
    if (!found) continue;
    offsets[i] = {right_s - found->unix_s, found->uncertainty_s + right_uncertainty_s};
  }
  return offsets;
}

}  // namespace

LoadEdgeFinder::LoadEdgeFinder(Window window)
    : window_(window),
      start_(std::floor(window.start_unix_s) - kNear_s, kSeconds),
      end_(std::floor(window.end_unix_s) - kNear_s, kSeconds) {}

void LoadEdgeFinder::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    const bool is_far = reading.unix_s > window_.start_unix_s + kNear_s &&
                        reading.unix_s < window_.end_unix_s - kNear_s - 1;
    if (is_far || reading.kind != Reading::Kind::power) continue;
    start_.add(reading.unix_s, reading.watts);
    end_.add(reading.unix_s, reading.watts);
  }
}

LoadEdges LoadEdgeFinder::edges() const {
  const double middle_s = (window_.start_unix_s + window_.end_unix_s) / 2;
  const PowerCurve start = start_.curve();
  const PowerCurve end = end_.curve();
  return {.rise = find_edge(start, -INFINITY, middle_s, 1),
          .fall = find_edge(end, middle_s, INFINITY, -1),
          .interval_s = std::max(1.0, interval_s(start))};
}

bool is_large(const ClockOffset& offset, double interval_s) {
  return std::abs(offset.offset_s) > std::max({offset.uncertainty_s, 2 * interval_s, 1.0});
}

std::vector<std::optional<ClockOffset>> estimate_clock_offsets(std::span<const LoadEdges> hosts) {
  std::vector<std::optional<ClockOffset>> offsets = offsets_by(hosts, &LoadEdges::rise);
  const std::vector<std::optional<ClockOffset>> by_fall = offsets_by(hosts, &LoadEdges::fall);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!offsets[i]) offsets[i] = by_fall[i];
    if (!offsets[i] || !by_fall[i]) continue;
    const double apart_s = std::abs(offsets[i]->offset_s - by_fall[i]->offset_s);
    offsets[i] = {(offsets[i]->offset_s + by_fall[i]->offset_s) / 2,
                  std::max({offsets[i]->uncertainty_s, by_fall[i]->uncertainty_s, apart_s / 2})};
  }
  return offsets;
}

}  // namespace aggregate_power
