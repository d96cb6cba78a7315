// Divides a recording by the middle of its power.
#include "energy/recorded_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

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

}  // namespace

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
