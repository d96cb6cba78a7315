// Welch's interval for a ratio of means.
#include "decide/compare/change.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "decide/compare/student_t.h"

namespace aggregate_power {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUpperProbability = 0.975;
constexpr double kMostLogarithm = 140;  // a factor of 1e60: an interval that is wider says no more

double sum_of_sorted(const std::vector<double>& sorted) {
  double sum = 0;
  for (const double value : sorted) sum += value;
  return sum;
}

double mean_of_sorted_squares(const std::vector<double>& sorted) {
  double sum = 0;
  for (const double value : sorted) sum += value * value;
  return sum / static_cast<double>(sorted.size());
}

std::vector<double> sorted_values(const RepeatedValues& values) {
  std::vector<double> sorted;
  for (const MeasuredValue& each : values.values) sorted.push_back(each.value);
  std::ranges::sort(sorted);
  return sorted;
}

// Relative: the rounding of the digits, and what the measurements state.
double least_spread(const RepeatedValues& values, double mean) {
  std::vector<double> stated;
  for (const MeasuredValue& each : values.values) {
    if (each.repeatability) stated.push_back(*each.repeatability);
  }
  std::ranges::sort(stated);
  const double rounding = values.half_last_digit / std::numbers::sqrt3 / mean;
  return std::sqrt(rounding * rounding + (stated.empty() ? 0 : mean_of_sorted_squares(stated)));
}

bool states_repeatability(const RepeatedValues& values) {
  return std::ranges::all_of(
      values.values, [](const MeasuredValue& each) { return each.repeatability.has_value(); });
}

// Relative, of one value among repeats.
double change_spread(const RepeatedValues& values, const RepeatStatistics& statistics) {
  const double observed = statistics.standard_deviation.value_or(0) / statistics.mean;
  return std::max(observed, least_spread(values, statistics.mean));
}

// The uncertainty of one side's mean.
struct MeanUncertainty {
  double relative = 0;
  double degrees_of_freedom = kInfinite;
};

double welch_satterthwaite(double square, const MeanUncertainty& base,
                           const MeanUncertainty& next) {
  const auto term = [](const MeanUncertainty& one) {
    return std::pow(one.relative, 4) / one.degrees_of_freedom;
  };
  const double terms = term(base) + term(next);
  return terms > 0 ? square * square / terms : kInfinite;
}

}  // namespace

RepeatStatistics repeat_statistics(const RepeatedValues& values) {
  assert(!values.values.empty());
  const std::vector<double> sorted = sorted_values(values);
  const auto count = static_cast<double>(sorted.size());
  const std::size_t middle = sorted.size() / 2;
  RepeatStatistics statistics;
  statistics.count = sorted.size();
  statistics.mean = sum_of_sorted(sorted) / count;
  statistics.median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  statistics.smallest = sorted.front();
  statistics.largest = sorted.back();
  // The rounding of a mean is no spread.
  if (sorted.front() == sorted.back()) statistics.mean = sorted.front();
  if (sorted.size() > 1) {
    double squares = 0;
    for (const double value : sorted) squares += std::pow(value - statistics.mean, 2);
    statistics.standard_deviation = std::sqrt(squares / (count - 1));
    statistics.uncertainty = change_spread(values, statistics) / std::sqrt(count);
    statistics.degrees_of_freedom = count - 1;
  } else if (states_repeatability(values)) {
    statistics.uncertainty = least_spread(values, statistics.mean);
    statistics.degrees_of_freedom = kInfinite;
  }
  if (statistics.uncertainty) {
    const double factor = student_t_quantile(kUpperProbability, statistics.degrees_of_freedom);
    const double half_width = factor * *statistics.uncertainty * statistics.mean;
    statistics.low = statistics.mean - half_width;
    statistics.high = statistics.mean + half_width;
    const auto& stated = values.values.front().bounds;
    if (sorted.size() == 1 && stated) std::tie(statistics.low, statistics.high) = *stated;
  }
  return statistics;
}

std::string_view change_method_name(ChangeMethod method) {
  switch (method) {
    case ChangeMethod::welch:
      return "welch";
    case ChangeMethod::one_spread:
      return "spread_of_one_side";
    default:
      return "measurement";
  }
}

double expected_half_width(const RepeatStatistics& base, const RepeatStatistics& next,
                           std::size_t more, double accuracy) {
  const auto spread_of = [](const RepeatStatistics& side, const RepeatStatistics& other) {
    const RepeatStatistics& known = side.count > 1 ? side : other;
    const double root = std::sqrt(static_cast<double>(known.count));
    return known.count > 1 ? known.uncertainty.value_or(0) * root : kInfinite;
  };
  const auto mean_of = [more](const RepeatStatistics& side, double spread) {
    const auto count = static_cast<double>(side.count + more);
    return MeanUncertainty{spread / std::sqrt(count), std::max(1.0, count - 1)};
  };
  const MeanUncertainty of_base = mean_of(base, spread_of(base, next));
  const MeanUncertainty of_next = mean_of(next, spread_of(next, base));
  const double uncertainty = std::hypot(of_base.relative, of_next.relative, accuracy);
  if (!std::isfinite(uncertainty)) return kInfinite;
  const double freedom = welch_satterthwaite(uncertainty * uncertainty, of_base, of_next);
  return uncertainty * student_t_quantile(kUpperProbability, freedom);
}

std::optional<RelativeChange> relative_change(const RepeatedValues& base,
                                              const RepeatedValues& next, double accuracy) {
  const RepeatStatistics before = repeat_statistics(base);
  const RepeatStatistics after = repeat_statistics(next);
  RelativeChange change{.change = after.mean / before.mean - 1};
  MeanUncertainty of_base{before.uncertainty.value_or(0), before.degrees_of_freedom};
  MeanUncertainty of_next{after.uncertainty.value_or(0), after.degrees_of_freedom};
  if (before.count > 1 && after.count > 1) {
    change.method = ChangeMethod::welch;
    change.degrees_of_freedom = welch_satterthwaite(
        std::pow(of_base.relative, 2) + std::pow(of_next.relative, 2) + accuracy * accuracy,
        of_base, of_next);
  } else if (before.count > 1 || after.count > 1) {
    const bool base_repeats = before.count > 1;
    const double spread = base_repeats ? change_spread(base, before) : change_spread(next, after);
    // The spread of the single one is the same estimate: one number of degrees of freedom.
    if (base_repeats) {
      of_next.relative = std::max(spread, least_spread(next, after.mean));
    } else {
      of_base.relative = std::max(spread, least_spread(base, before.mean));
    }
    const MeanUncertainty both{
        std::hypot(of_base.relative, of_next.relative),
        base_repeats ? of_base.degrees_of_freedom : of_next.degrees_of_freedom};
    change.method = ChangeMethod::one_spread;
    change.degrees_of_freedom = welch_satterthwaite(
        both.relative * both.relative + accuracy * accuracy, both, MeanUncertainty{});
  } else if (before.uncertainty && after.uncertainty) {
    change.method = ChangeMethod::measurement;
    change.degrees_of_freedom = kInfinite;
  } else {
    return std::nullopt;
  }
  const double uncertainty = std::hypot(of_base.relative, of_next.relative, accuracy);
  const double half_width =
      std::min(kMostLogarithm,
               uncertainty * student_t_quantile(kUpperProbability, change.degrees_of_freedom));
  const double logarithm = std::log(after.mean / before.mean);
  change.low = std::expm1(logarithm - half_width);
  change.high = std::expm1(logarithm + half_width);
  return change;
}

}  // namespace aggregate_power
