// Divides rows into stretches and integrates them.
#include "decide/recommend/recommend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/energy/long_sum.h"
#include "core/energy/quantile.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kOutlierRules[] = {"none", "zscore", "mad"};
constexpr double kMostDeviations = 3;
constexpr double kGapSteps = 10;
constexpr std::size_t kMostBlocks = 10;

// One row, as far as the arithmetic needs it.
struct RowPoint {
  double unix_s = 0;
  double power_w = 0;
  double tokens_per_s = 0;
};

struct RowStretch {
  std::size_t limit = 0;  // index of its group
  std::vector<RowPoint> points;
};

double median_of_steps(const std::vector<SweepRow>& rows, const std::vector<std::size_t>& limits) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double step_s = rows[i].unix_s - rows[i - 1].unix_s;
    if (limits[i] == limits[i - 1] && step_s > 0) steps.push_back(step_s);
  }
  return quantile_of(std::move(steps), 0.5);
}

std::vector<RowStretch> stretches_of(const SweepRows& all, const std::vector<std::size_t>& limits,
                                     bool has_total) {
  const double most_step_s = kGapSteps * median_of_steps(all.rows, limits);
  std::vector<RowStretch> stretches;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const SweepRow& row = all.rows[i];
    const bool goes_on =
        i > 0 && limits[i] == limits[i - 1] && row.unix_s - all.rows[i - 1].unix_s <= most_step_s;
    if (!goes_on) stretches.push_back({limits[i], {}});
    stretches.back().points.push_back(
        {row.unix_s, has_total ? row.total_power_w : row.gpu_power_w, row.tokens_per_s});
  }
  return stretches;
}

// What is left out lies further from the middle than three times the spread.
struct RateRange {
  double middle = 0;
  double most_off = 0;  // 0: there is no spread, and nothing is left out

  bool has(double rate) const { return most_off == 0 || std::abs(rate - middle) < most_off; }
};

RateRange usual_rates(std::vector<double> rates, RowOutliers outliers) {
  if (outliers == RowOutliers::none || rates.empty()) return {};
  std::ranges::sort(rates);
  const auto count = static_cast<double>(rates.size());
  if (outliers == RowOutliers::mad) {
    const double median = quantile_of(rates, 0.5);
    std::vector<double> off;
    for (const double rate : rates) off.push_back(std::abs(rate - median));
    return {median, kMostDeviations * 1.4826 * quantile_of(std::move(off), 0.5)};
  }
  LongSum sum;
  for (const double rate : rates) sum.add(rate);
  const double mean = sum.value() / count;
  LongSum squares;
  for (const double rate : rates) squares.add((rate - mean) * (rate - mean));
  const double sigma = std::sqrt(squares.value() / count);
  return {mean, sigma > 1e-12 * std::abs(mean) ? kMostDeviations * sigma : 0};
}

// The tokens between each two neighbours, and what else there is to add up.
std::vector<LimitPiece> segments_of(std::span<const RowPoint> points, bool is_cumulative) {
  std::vector<LimitPiece> segments;
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i) {
    steps.push_back(points[i].unix_s - points[i - 1].unix_s);
  }
  // A load that logs its mean rate began one step before its first row.
  const double began_s =
      is_cumulative && !points.empty() ? points[0].unix_s - quantile_of(steps, 0.5) : 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const RowPoint& a = points[i - 1];
    const RowPoint& b = points[i];
    const double step_s = steps[i - 1];
    const double tokens = is_cumulative ? b.tokens_per_s * (b.unix_s - began_s) -
                                              a.tokens_per_s * (a.unix_s - began_s)
                                        : step_s * (a.tokens_per_s + b.tokens_per_s) / 2;
    segments.push_back({step_s * (a.power_w + b.power_w) / 2, step_s, tokens});
  }
  return segments;
}

LimitPiece sum_of(std::span<const LimitPiece> parts) {
  LongSum energy_j, time_s, work;
  for (const LimitPiece& part : parts) {
    energy_j.add(part.energy_j);
    time_s.add(*part.time_s);
    work.add(part.work);
  }
  return {energy_j.value(), time_s.value(), work.value()};
}

std::vector<LimitPiece> blocks_of(std::span<const LimitPiece> segments) {
  const std::size_t count = std::min(kMostBlocks, segments.size());
  std::vector<LimitPiece> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * segments.size() / count;
    blocks.push_back(sum_of(segments.subspan(from, (i + 1) * segments.size() / count - from)));
  }
  return blocks;
}

// Counts the limit as not in force if more than a twentieth of the rows report another one.
std::optional<double> limit_in_force(double limit_w, const std::vector<double>& reported) {
  if (reported.empty()) return std::nullopt;
  const auto others =
      std::ranges::count_if(reported, [&](double one) { return !is_same_limit(limit_w, one); });
  if (static_cast<double>(others) <= 0.05 * static_cast<double>(reported.size())) {
    return quantile_of(reported, 0.5);
  }
  return *std::ranges::max_element(
      reported, {}, [&](double one) { return std::pair(std::abs(one - limit_w), one); });
}

double mean_of(std::vector<double> values) {
  std::ranges::sort(values);
  LongSum sum;
  for (const double value : values) sum.add(value);
  return sum.value() / static_cast<double>(values.size());
}

// What is measured of a limit's rows, whatever stretch they are in.
void note_rows(const SweepRows& all, const std::vector<std::size_t>& limits, std::size_t index,
               std::optional<double> gpus, LimitGroup& group) {
  std::vector<double> reported, gpu_powers;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const SweepRow& row = all.rows[i];
    if (limits[i] != index) continue;
    if (row.in_force_w > 0) reported.push_back(row.in_force_w);
    const double gpu_power_w = row.gpu_power_w >= 0 ? row.gpu_power_w
                               : gpus               ? row.total_power_w / *gpus
                                                    : kNoNumber;
    if (gpu_power_w >= 0) gpu_powers.push_back(gpu_power_w);
  }
  group.limit_in_force_w = limit_in_force(group.limit_w, reported);
  group.is_confirmed = group.limit_in_force_w.has_value();
  if (!gpu_powers.empty()) group.gpu_power_w = mean_of(std::move(gpu_powers));
  group.why = limit_fault(group.limit_w, group.limit_in_force_w, group.gpu_power_w);
  if (!group.why.empty()) group.state = LimitState::limit_not_in_force;
}

LimitGroup group_of(double limit_w, std::size_t index, std::vector<RowStretch> stretches,
                    const RowRules& rules) {
  LimitGroup group{.limit_w = limit_w};
  std::vector<double> rates;
  for (const RowStretch& stretch : stretches) {
    if (stretch.limit != index) continue;
    for (const RowPoint& point : stretch.points) rates.push_back(point.tokens_per_s);
  }
  const RateRange usual = usual_rates(std::move(rates), rules.outliers);
  std::vector<LimitPiece> segments;
  std::vector<double> ratios;
  for (RowStretch& stretch : stretches) {
    if (stretch.limit != index) continue;
    group.outliers += std::erase_if(
        stretch.points, [&](const RowPoint& point) { return !usual.has(point.tokens_per_s); });
    group.n += stretch.points.size();
    for (const RowPoint& point : stretch.points) {
      if (point.tokens_per_s > 0) ratios.push_back(point.power_w / point.tokens_per_s);
    }
    const auto parts = segments_of(stretch.points, rules.is_cumulative);
    if (const LimitPiece piece = sum_of(parts); *piece.time_s > 0) group.pieces.push_back(piece);
    segments.insert(segments.end(), parts.begin(), parts.end());
  }
  group.blocks = blocks_of(segments);
  if (!ratios.empty()) group.mean_joules_per_token = mean_of(std::move(ratios));
  return group;
}

// How many GPUs a total is of, by what one of them draws.
std::optional<double> gpus_of(const SweepRows& rows, bool has_total) {
  if (!has_total) return 1;
  std::vector<double> counts;
  for (const SweepRow& row : rows.rows) {
    if (row.gpu_power_w > 0) counts.push_back(row.total_power_w / row.gpu_power_w);
  }
  if (counts.empty()) return std::nullopt;
  return std::max(1.0, std::round(quantile_of(std::move(counts), 0.5)));
}

}  // namespace

std::optional<RowOutliers> row_outliers(std::string_view name) {
  const auto found = std::ranges::find(kOutlierRules, name);
  if (found == std::end(kOutlierRules)) return std::nullopt;
  return static_cast<RowOutliers>(found - std::begin(kOutlierRules));
}

std::string_view name(RowOutliers outliers) {
  return kOutlierRules[static_cast<std::size_t>(outliers)];
}

LimitScenario scenario_of_rows(const SweepRows& rows, const RowRules& rules) {
  LimitScenario scenario{.name = rows.scenario, .has_tokens = true, .is_of_rows = true};
  const bool has_total = have_total_power(rows);
  scenario.gpus = gpus_of(rows, has_total);
  std::vector<double> asked;
  for (const SweepRow& row : rows.rows) asked.push_back(row.limit_w);
  const std::vector<double> distinct = distinct_limits(std::move(asked));
  std::vector<std::size_t> limits;
  for (const SweepRow& row : rows.rows) limits.push_back(limit_index(distinct, row.limit_w));
  const std::vector<RowStretch> stretches = stretches_of(rows, limits, has_total);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    LimitGroup group = group_of(distinct[i], i, stretches, rules);
    note_rows(rows, limits, i, scenario.gpus, group);
    scenario.groups.push_back(std::move(group));
  }
  return scenario;
}

}  // namespace aggregate_power
