// Divides a recording by the middle of its power.
#include "energy/shares/recorded_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/telemetry/samples.h"
#include "core/energy/quantile.h"

namespace aggregate_power {
namespace {

constexpr double kLeastRise = 1.5;

struct Range {
  double least_w = std::numeric_limits<double>::infinity();
  double greatest_w = 0;
};

Range range_of_watts(std::span<const std::span<const Sample>> gpus) {
  Range range;
  for (const auto& samples : gpus) {
    for (const Sample& sample : samples) {
      range.least_w = std::min(range.least_w, sample.watts);
      range.greatest_w = std::max(range.greatest_w, sample.watts);
    }
  }
  return range;
}

struct Moments {
  double count = 0;
  double sum_w = 0;

  void add(double watts) {
    ++count;
    sum_w += watts;
  }
  double mean_w() const { return count > 0 ? sum_w / count : 0; }
};

RecordedGap::Place place_of_gap(Window gap, Window load) {
  using enum RecordedGap::Place;
  if (gap.end_unix_s < load.start_unix_s || gap.start_unix_s > load.end_unix_s) {
    return without_load;
  }
  if (gap.start_unix_s < load.start_unix_s) return at_begin;
  return gap.end_unix_s > load.end_unix_s ? at_end : under_load;
}

constexpr double kSameShare = 0.05;  // a power that differs by less is the same
constexpr double kSameW = 1;
constexpr double kEdgeShare = 0.2;  // of the power in the window is surely an edge

double watts_quantile(std::span<const Sample> samples, double share) {
  return quantile_of_many(
      samples.size(), [&](std::size_t i) { return samples[i].watts; }, share);
}

bool is_above(double watts, double beside_w) {
  return watts > (1 + kSameShare) * beside_w + kSameW;
}

// Of the readings nearest to the window, in one of two stretches that begin or end with it.
std::optional<double> median_of_first(std::span<const Sample> samples, Window near, Window far) {
  constexpr std::size_t kFewestBeside = 3;
  for (const Window stretch : {near, far}) {
    const std::span<const Sample> inside = samples_in(samples, stretch);
    if (inside.size() >= kFewestBeside) return watts_quantile(inside, 0.5);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> PowerNear::beside_w() const {
  if (!before_w || !after_w) return before_w ? before_w : after_w;
  return std::min(*before_w, *after_w);
}

// Bursts raise the mean by little.
bool PowerNear::rises() const {
  const auto beside = beside_w();
  return beside && (is_above(mean_w, *beside) || is_above(high_w, (1 + kSameShare) * *beside));
}

bool PowerNear::stays() const {
  if (!before_w || !after_w || rises()) return false;
  return !is_above(std::max(*before_w, *after_w), mean_w);
}

bool PowerNear::steps() const {
  if (!before_w || !after_w || mean_w <= kSameW) return false;
  return mean_w - std::max(*before_w, *after_w) >= kEdgeShare * mean_w;
}

std::optional<PowerNear> power_near(std::span<const Sample> samples, Window window) {
  constexpr double kEdge_s = 1;
  constexpr double kNear_s = 6;
  constexpr double kFar_s = 20;
  const std::span<const Sample> inside = samples_in(samples, window);
  if (inside.empty()) return std::nullopt;
  Moments moments;
  for (const Sample& sample : inside) moments.add(sample.watts);
  const auto before = [&](double from_s) {
    return Window{window.start_unix_s - from_s, window.start_unix_s - kEdge_s};
  };
  const auto after = [&](double to_s) {
    return Window{window.end_unix_s + kEdge_s, window.end_unix_s + to_s};
  };
  return PowerNear{.mean_w = moments.mean_w(),
                   .high_w = watts_quantile(inside, 0.9),
                   .before_w = median_of_first(samples, before(kNear_s), before(kFar_s)),
                   .after_w = median_of_first(samples, after(kNear_s), after(kFar_s))};
}

RecordedLoad recorded_load(std::span<const std::span<const Sample>> gpus) {
  const auto [least_w, greatest_w] = range_of_watts(gpus);
  RecordedLoad load;
  load.has_both = greatest_w > kLeastRise * least_w && greatest_w > 0;
  const double middle_w = load.has_both ? (least_w + greatest_w) / 2 : least_w;
  load.stretch = {std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  Moments below;
  Moments above;
  for (const auto& samples : gpus) {
    for (const Sample& sample : samples) {
      (sample.watts < middle_w ? below : above).add(sample.watts);
      if (sample.watts < middle_w) continue;
      load.stretch.start_unix_s = std::min(load.stretch.start_unix_s, sample.unix_s);
      load.stretch.end_unix_s = std::max(load.stretch.end_unix_s, sample.unix_s);
    }
  }
  load.load_w = above.mean_w();
  load.idle_w = load.has_both ? below.mean_w() : 0;
  return load;
}

std::optional<RecordedGap> worst_gap(std::span<const std::span<const Sample>> gpus,
                                     const RecordedLoad& load, double least_s) {
  const auto badness = [](const RecordedGap& gap) {
    return std::tuple(gap.place != RecordedGap::Place::without_load, gap.window.duration_s());
  };
  std::optional<RecordedGap> worst;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::size_t i = 1; i < gpus[gpu].size(); ++i) {
      const Window between = {gpus[gpu][i - 1].unix_s, gpus[gpu][i].unix_s};
      if (!(between.duration_s() > least_s)) continue;
      const RecordedGap gap = {gpu, between, place_of_gap(between, load.stretch)};
      if (!worst || badness(gap) > badness(*worst)) worst = gap;
    }
  }
  return worst;
}

}  // namespace aggregate_power
