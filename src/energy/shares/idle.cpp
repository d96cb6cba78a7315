// Tries the stretches beside a window one by one.
#include "energy/shares/idle.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/energy/recording_summary.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

constexpr double kStepS = 1;
constexpr double kLeastBlockS = 2;
constexpr std::size_t kLeastBlockReadings = 2;
constexpr std::size_t kFewestBlocks = 3;
constexpr std::size_t kMostBlocks = 20;

std::span<const Sample> readings_in(const IdleGpu& gpu, Window stretch) {
  const auto begin =
      std::ranges::lower_bound(gpu.samples, stretch.start_unix_s, {}, &Sample::unix_s);
  const auto end = std::ranges::upper_bound(gpu.samples, stretch.end_unix_s, {}, &Sample::unix_s);
  return begin < end ? std::span<const Sample>(begin, end) : std::span<const Sample>();
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<double> watts_of(std::span<const Sample> readings) {
  std::vector<double> watts;
  watts.reserve(readings.size());
  for (const Sample& reading : readings) watts.push_back(reading.watts);
  return watts;
}

double level_of(std::span<const Sample> readings) { return mean_of(watts_of(readings)); }

bool is_steady(std::span<const Sample> readings) {
  const std::vector<double> watts = watts_of(readings);
  return standard_deviation(watts) < std::max(kMostIdleSpread * mean_of(watts), kMostIdleSpreadW);
}

bool is_flat(std::span<const Sample> readings, double load_w) {
  return readings.size() >= kLeastIdleReadings && level_of(readings) < kMostIdleLevel * load_w &&
         is_steady(readings);
}

bool has_gap(std::span<const Sample> readings, Window stretch, double max_gap_s) {
  double last_s = stretch.start_unix_s;
  for (const Sample& reading : readings) {
    if (reading.unix_s - last_s > max_gap_s) return true;
    last_s = reading.unix_s;
  }
  return stretch.end_unix_s - last_s > max_gap_s;
}

// The part of `around` that all GPUs have read, if they are flat there.
std::optional<Window> plateau_in(std::span<const IdleGpu> gpus, Window around, double max_gap_s) {
  Window found = around;
  for (const IdleGpu& gpu : gpus) {
    const auto readings = readings_in(gpu, around);
    if (!is_flat(readings, gpu.load_w)) return std::nullopt;
    found.start_unix_s = std::max(found.start_unix_s, readings.front().unix_s);
    found.end_unix_s = std::min(found.end_unix_s, readings.back().unix_s);
  }
  return idle_means(gpus, found, max_gap_s) ? std::optional(found) : std::nullopt;
}

struct Block {
  double sum_w = 0;
  double readings = 0;
};

// The means of `count` blocks; empty: a block has no reading.
std::vector<double> means_of_each_block(std::span<const Sample> readings, Window stretch,
                                        std::size_t count) {
  std::vector<Block> blocks(count);
  const double share = static_cast<double>(count) / stretch.duration_s();
  for (const Sample& reading : readings) {
    const double place = (reading.unix_s - stretch.start_unix_s) * share;
    Block& block = blocks[std::min(count - 1, static_cast<std::size_t>(place))];
    block.sum_w += reading.watts;
    ++block.readings;
  }
  std::vector<double> means;
  for (const Block& block : blocks) {
    if (block.readings > 0) means.push_back(block.sum_w / block.readings);
  }
  if (means.size() < count) means.clear();
  return means;
}

// Few blocks say little about how far they scatter: the usual factor times this uncertainty is
// Student's interval.
Power power_of_blocks(std::span<const double> blocks) {
  const auto count = static_cast<double>(blocks.size());
  const double wider = student_t_quantile(0.975, count - 1) / kCoverageFactor;
  return {mean_of(blocks), wider * standard_deviation(blocks) / std::sqrt(count)};
}

std::optional<IdleMeans> means_of_blocks(std::span<const IdleGpu> gpus, Window stretch,
                                         std::size_t count) {
  IdleMeans means;
  std::vector<double> together(count);
  for (const IdleGpu& gpu : gpus) {
    const std::vector<double> blocks =
        means_of_each_block(readings_in(gpu, stretch), stretch, count);
    if (blocks.empty()) return std::nullopt;
    means.gpus.push_back(power_of_blocks(blocks));
    for (std::size_t i = 0; i < count; ++i) together[i] += blocks[i];
  }
  means.total = power_of_blocks(together);
  return means;
}

}  // namespace

std::optional<Window> idle_before(std::span<const IdleGpu> gpus, Window window, double max_gap_s) {
  const double first_s = window.start_unix_s - kIdleWithinS;
  for (double end_s = window.start_unix_s - kBeforeLoadS; end_s - first_s >= kLeastIdleS;
       end_s -= kStepS) {
    for (double start_s = first_s; end_s - start_s >= kLeastIdleS; start_s += kStepS) {
      if (auto found = plateau_in(gpus, {start_s, end_s}, max_gap_s)) return found;
    }
  }
  return std::nullopt;
}

std::optional<Window> idle_after(std::span<const IdleGpu> gpus, Window window, double max_gap_s) {
  const double last_s = window.end_unix_s + kIdleWithinS;
  for (double start_s = window.end_unix_s + kAfterLoadS; last_s - start_s >= kLeastIdleS;
       start_s += kStepS) {
    for (double end_s = last_s; end_s - start_s >= kLeastIdleS; end_s -= kStepS) {
      if (auto found = plateau_in(gpus, {start_s, end_s}, max_gap_s)) return found;
    }
  }
  return std::nullopt;
}

std::optional<double> least_steady_w(const IdleGpu& gpu, Window window) {
  constexpr double kLeastS = 0.9;
  constexpr std::size_t kLeastReadings = 2;
  std::optional<double> least_w;
  for (auto first = gpu.samples.begin(); first != gpu.samples.end(); ++first) {
    const double end_s = first->unix_s + kLeastS;
    const auto last = std::ranges::find_if(
        first, gpu.samples.end(), [&](const Sample& sample) { return sample.unix_s >= end_s; });
    if (last == gpu.samples.end()) break;
    const bool is_outside = last->unix_s < window.start_unix_s || first->unix_s > window.end_unix_s;
    const std::span<const Sample> readings(first, last + 1);
    if (!is_outside || readings.size() < kLeastReadings || !is_steady(readings)) continue;
    const double level_w = level_of(readings);
    if (!least_w || level_w < *least_w) least_w = level_w;
  }
  return least_w;
}

std::optional<IdleMeans> idle_means(std::span<const IdleGpu> gpus, Window stretch,
                                    double max_gap_s) {
  if (gpus.empty() || !(stretch.duration_s() >= kLeastIdleS)) return std::nullopt;
  auto most = static_cast<std::size_t>(
      std::min(static_cast<double>(kMostBlocks), stretch.duration_s() / kLeastBlockS));
  for (const IdleGpu& gpu : gpus) {
    const auto readings = readings_in(gpu, stretch);
    if (readings.size() < kLeastIdleReadings || has_gap(readings, stretch, max_gap_s)) {
      return std::nullopt;
    }
    most = std::min(most, readings.size() / kLeastBlockReadings);
  }
  for (std::size_t count = most; count >= kFewestBlocks; --count) {
    if (auto means = means_of_blocks(gpus, stretch, count)) return means;
  }
  return std::nullopt;
}

// ---- Divides a recording by the middle of its power.

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
