// Finds a load's edges and compares them with the window's.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>
#include <utility>

#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

// An edge of the load this near to the window's is its edge: half of the window's length within
// these bounds.
constexpr double kLeastReach_s = 5;
constexpr double kMostReach_s = 60;
constexpr double kEdgeBlur_s = 1.3;       // averages and slow ramps around an edge
constexpr double kEdgeSide_s = 2.5;       // the levels on both sides of it are means over this long
constexpr double kIdleOfLevel = 0.6;      // of the load's power: more is another load
constexpr double kIdleOfRange = 0.1;      // of the range of power above its least is idle
constexpr std::ptrdiff_t kMostLoads = 2;  // near the window: it, and an end of another one

// Where the line between two samples crosses a level, and the sample above it.
struct Crossing {
  double unix_s = 0;
  double high_unix_s = 0;
};

std::vector<Crossing> crossings_of(std::span<const Sample> samples, double level_w, bool up) {
  std::vector<Crossing> found;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    if ((a.watts < level_w) == (b.watts < level_w) || (b.watts >= level_w) != up) continue;
    const double share = (level_w - a.watts) / (b.watts - a.watts);
    found.push_back({a.unix_s + share * (b.unix_s - a.unix_s), up ? b.unix_s : a.unix_s});
  }
  return found;
}

double upper_quartile_w(std::span<const Sample> samples) {
  if (samples.empty()) return 0;
  return quantile_of_many(
      samples.size(), [&](std::size_t i) { return samples[i].watts; }, 0.75);
}

constexpr double kNearWindow_s = 4;

// A load that goes up and down has many edges in its window.
std::ptrdiff_t count_near(std::span<const Crossing> crossings, Window window) {
  return std::ranges::count_if(crossings, [&](const Crossing& crossing) {
    return crossing.unix_s > window.start_unix_s - kNearWindow_s &&
           crossing.unix_s < window.end_unix_s + kNearWindow_s;
  });
}

// The nearest to an edge of the window, if no other one is near it on either side. `sign` is that
// of the way out of the window.
std::optional<Crossing> crossing_near(std::span<const Crossing> same,
                                      std::span<const Crossing> others, double unix_s,
                                      double sign) {
  constexpr double kUpInside_s = 3;
  constexpr double kIdleOutside_s = 1.5;
  const auto nearest = std::ranges::min_element(
      same, {}, [&](const Crossing& crossing) { return std::abs(crossing.unix_s - unix_s); });
  if (nearest == same.end() || std::abs(nearest->unix_s - unix_s) > kNearWindow_s)
    return std::nullopt;
  const bool is_alone = std::ranges::none_of(others, [&](const Crossing& other) {
    const double outwards_s = sign * (other.unix_s - nearest->unix_s);
    return outwards_s > -kUpInside_s && outwards_s < kIdleOutside_s;
  });
  return is_alone ? std::optional(*nearest) : std::nullopt;
}

// Whether some reading just outside of the load is idle.
bool is_idle_outside(std::span<const Sample> samples, Window outside, double idle_w) {
  return std::ranges::any_of(samples_in(samples, outside),
                             [&](const Sample& sample) { return sample.watts <= idle_w; });
}

// The instant of a sharp edge with the same energy.
std::optional<double> sharp_edge(std::span<const Sample> samples, double near_unix_s) {
  const Window before = {near_unix_s - kEdgeBlur_s - kEdgeSide_s, near_unix_s - kEdgeBlur_s};
  const Window after = {near_unix_s + kEdgeBlur_s, near_unix_s + kEdgeBlur_s + kEdgeSide_s};
  if (samples.front().unix_s > before.end_unix_s - 1 ||
      samples.back().unix_s < after.start_unix_s + 1) {
    return std::nullopt;
  }
  const double before_w = line_energy_j(samples, before) / kEdgeSide_s;
  const double after_w = line_energy_j(samples, after) / kEdgeSide_s;
  const double lower_w = std::min(before_w, after_w);
  if (lower_w > kIdleOfLevel * std::max(before_w, after_w)) return std::nullopt;
  const Window around = {before.end_unix_s, after.start_unix_s};
  const double above_j = line_energy_j(samples, around) - before_w * around.duration_s();
  return around.end_unix_s - above_j / (after_w - before_w);
}

}  // namespace

std::optional<LoadCrossings> load_crossings(std::span<const Sample> samples, Window window) {
  if (samples.size() < 8) return std::nullopt;
  const double low_w = std::ranges::min(samples, {}, &Sample::watts).watts;
  // A short load is no quarter of the samples around it, but most of its window.
  const double high_w =
      std::max(upper_quartile_w(samples), upper_quartile_w(samples_in(samples, window)));
  if (low_w > kIdleOfLevel * high_w) return std::nullopt;
  const double level_w = (high_w + low_w) / 2;
  const std::vector<Crossing> ups = crossings_of(samples, level_w, true);
  const std::vector<Crossing> downs = crossings_of(samples, level_w, false);
  if (ups.size() == 1 && downs.size() == 1) {
    return LoadCrossings{ups[0].unix_s, downs[0].unix_s, ups[0].high_unix_s, downs[0].high_unix_s};
  }
  if (count_near(ups, window) > kMostLoads || count_near(downs, window) > kMostLoads) {
    return std::nullopt;
  }
  const auto up = crossing_near(ups, downs, window.start_unix_s, -1);
  const auto down = crossing_near(downs, ups, window.end_unix_s, 1);
  if (!up || !down || up->unix_s >= down->unix_s) return std::nullopt;
  const double idle_w = low_w + kIdleOfRange * (high_w - low_w);
  if (!is_idle_outside(samples, {up->unix_s - kEdgeSide_s, up->unix_s}, idle_w) ||
      !is_idle_outside(samples, {down->unix_s, down->unix_s + kEdgeSide_s}, idle_w)) {
    return std::nullopt;
  }
  return LoadCrossings{up->unix_s, down->unix_s, up->high_unix_s, down->high_unix_s, false};
}

std::optional<LoadSpan> load_span(std::span<const Sample> samples, const LoadCrossings& crossings,
                                  const SensorModel& sensor, Window window) {
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  const double reach_s = std::clamp(window.duration_s() / 2, kLeastReach_s, kMostReach_s);
  if (std::abs(crossings.up_unix_s - age_s - window.start_unix_s) > reach_s ||
      std::abs(crossings.down_unix_s - age_s - window.end_unix_s) > reach_s) {
    return std::nullopt;
  }
  // Other loads next to it hide how much energy an edge has.
  const bool is_rough = !crossings.are_only;
  const std::optional<double> rise =
      is_rough ? crossings.up_unix_s : sharp_edge(samples, crossings.up_unix_s);
  const std::optional<double> fall =
      is_rough ? crossings.down_unix_s : sharp_edge(samples, crossings.down_unix_s);
  if (!rise || !fall) return std::nullopt;
  LoadSpan span = {*rise - age_s, *fall - age_s, *rise - age_s, *fall - age_s, is_rough};
  const bool sees_moments = sensor.window_s < 0.9 * median_period_s(samples);
  if (sees_moments) {
    span.latest_rise_unix_s = std::max(span.rise_unix_s, crossings.high_from_unix_s - age_s);
    span.earliest_fall_unix_s = std::min(span.fall_unix_s, crossings.high_until_unix_s - age_s);
  }
  return span;
}

std::optional<double> clock_shift_s(std::span<const LoadSpan> gpus, Window window) {
  if (gpus.empty()) return std::nullopt;
  const auto median = [&](double LoadSpan::*edge, double window_edge_unix_s) {
    std::vector<double> offsets_s;
    for (const LoadSpan& gpu : gpus) offsets_s.push_back(gpu.*edge - window_edge_unix_s);
    return quantile_of(std::move(offsets_s), 0.5);
  };
  const double rise_s = median(&LoadSpan::rise_unix_s, window.start_unix_s);
  const double fall_s = median(&LoadSpan::fall_unix_s, window.end_unix_s);
  const bool is_impossible = median(&LoadSpan::latest_rise_unix_s, window.start_unix_s) < -0.2 ||
                             median(&LoadSpan::earliest_fall_unix_s, window.end_unix_s) > 0.4;
  const double offset_s = (rise_s + fall_s) / 2;
  const double least_s = std::ranges::any_of(gpus, &LoadSpan::is_rough) ? 0.6 : 0.3;
  if (!is_impossible || rise_s * fall_s < 0 || std::abs(rise_s - fall_s) > 0.6 ||
      std::abs(offset_s) <= least_s) {
    return std::nullopt;
  }
  return offset_s;
}

}  // namespace aggregate_power
