// Welch's interval for a ratio of means.
#include "decide/compare/change.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include <fmt/format.h>

#include "decide/compare/compare.h"
#include "decide/compare/power.h"
#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUpperProbability = 0.975;
constexpr double kMostLogarithm = 140;  // a factor of 1e60: an interval that is wider says no more

double sum_of_sorted(const std::vector<double>& sorted) { return summed(sorted); }

double mean_of_sorted_squares(const std::vector<double>& sorted) {
  return summed(sorted, [](const double value) { return value * value; }) /
         static_cast<double>(sorted.size());
}

std::vector<double> sorted_values(const RepeatedValues& values) {
  auto sorted = mapped<double>(values.values, &MeasuredValue::value);
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

}  // namespace

double welch_satterthwaite(double square, const MeanUncertainty& base,
                           const MeanUncertainty& next) {
  const auto term = [](const MeanUncertainty& one) {
    return std::pow(one.relative, 4) / one.degrees_of_freedom;
  };
  const double terms = term(base) + term(next);
  return terms > 0 ? square * square / terms : kInfinite;
}

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
  constexpr std::string_view kNames[] = {"welch", "spread_of_one_side", "measurement"};
  return kNames[static_cast<std::size_t>(method)];
}

bool MeanRatio::is_certainly_above_one(double alpha) const {
  if (!(ratio > 1) || uncertainty == 0) return ratio > 1;
  return student_t_probability(-std::log(ratio) / uncertainty, degrees_of_freedom) < alpha / 2;
}

std::optional<MeanRatio> ratio_of_means(const RepeatedValues& base, const RepeatStatistics& before,
                                        const RepeatedValues& next, const RepeatStatistics& after,
                                        double accuracy) {
  MeanRatio found{.ratio = after.mean / before.mean};
  MeanUncertainty of_base{before.uncertainty.value_or(0), before.degrees_of_freedom};
  MeanUncertainty of_next{after.uncertainty.value_or(0), after.degrees_of_freedom};
  if (before.count > 1 && after.count > 1) {
    found.degrees_of_freedom = welch_satterthwaite(
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
    found.method = ChangeMethod::one_spread;
    found.degrees_of_freedom = welch_satterthwaite(
        both.relative * both.relative + accuracy * accuracy, both, MeanUncertainty{});
  } else if (before.uncertainty && after.uncertainty) {
    found.method = ChangeMethod::measurement;
    found.degrees_of_freedom = kInfinite;
  } else {
    return std::nullopt;
  }
  found.uncertainty = std::hypot(of_base.relative, of_next.relative, accuracy);
  return found;
}

std::optional<RelativeChange> relative_change(const RepeatedValues& base,
                                              const RepeatedValues& next, double accuracy,
                                              double alpha) {
  const auto found =
      ratio_of_means(base, repeat_statistics(base), next, repeat_statistics(next), accuracy);
  if (!found) return std::nullopt;
  const double half_width =
      std::min(kMostLogarithm,
               found->uncertainty * student_t_upper_quantile(alpha / 2, found->degrees_of_freedom));
  const double logarithm = std::log(found->ratio);
  return RelativeChange{found->ratio - 1, std::expm1(logarithm - half_width),
                        std::expm1(logarithm + half_width), found->degrees_of_freedom,
                        found->method};
}

// ---- From the values of both sides to a verdict.

namespace {

// Of repeats of one configuration: public ones differ by less than one percent.
constexpr double kSuspiciousSpread = 0.05;

std::string lack_of_runs(const RunComparison& comparison) {
  for (const ComparedSide* const side : {&comparison.base, &comparison.next}) {
    if (!side->endless.empty()) return side->endless;
  }
  const bool lacks_base = !comparison.base.statistics;
  const bool lacks_next = !comparison.next.statistics;
  const auto left_out = std::ranges::count_if(comparison.excluded, [&](const ExcludedRun& run) {
    return run.is_new ? lacks_next : lacks_base;
  });
  const char* const side =
      lacks_base && lacks_next ? "either" : (lacks_base ? "the base" : "the new");
  if (left_out == 0) {
    return fmt::format(
        "no run on {} side: measure this configuration there, or match by fewer members with --match-by",
        side);
  }
  return fmt::format("no run is left on {} side: {} not used, for the reasons below", side,
                     left_out == 1 ? "one is" : fmt::format("{} are", left_out));
}

std::string more_repeats_text(const RunComparison& comparison, const CompareRule& rule,
                              const std::string& how_often) {
  const RepeatedValues& base = comparison.base.repeats;
  const RepeatedValues& next = comparison.next.repeats;
  // No spread is known of single runs.
  if (std::max(base.values.size(), next.values.size()) < 2) return "repeat " + how_often;
  if (const auto more = more_repeats(base, next, *comparison.change, comparison.accuracy,
                                     rule.margin, rule.alpha)) {
    return fmt::format("repeat {}; about {} more of each side would probably decide it", how_often,
                       *more);
  }
  return fmt::format("{} more repeats of each side would not decide it", kMostRepeats);
}

std::string lack_of_evidence(const RunComparison& comparison, const CompareRule& rule) {
  if (!comparison.change) {
    return "one run on each side, and not both state an interval: repeat each three times, or measure both with --uncertainty";
  }
  const bool is_few =
      comparison.change->method != ChangeMethod::welch ||
      std::min(comparison.base.statistics->count, comparison.next.statistics->count) < 3;
  std::string lack =
      "the interval of the change is neither above nor below 0, nor within the margin: ";
  const std::string more =
      more_repeats_text(comparison, rule, is_few ? "each at least three times" : "more often");
  if (!(comparison.accuracy > 0)) return lack + more;
  return fmt::format("{}measure both on the same boards{}{}", lack,
                     more.starts_with("repeat") ? ", or " : ": ", more);
}

// No change of a configuration multiplies its energy by the factor between two units.
std::string other_unit(const RunComparison& comparison) {
  constexpr double kFactors[] = {1e3, 3.6e3, 1e6, 3.6e6, 1e9};  // milli, Wh, micro or kilo, kWh
  constexpr double kNear = 0.1;
  const double ratio = comparison.next.statistics->mean / comparison.base.statistics->mean;
  for (const double factor : kFactors) {
    if (std::abs(std::max(ratio, 1 / ratio) / factor - 1) > kNear) continue;
    return fmt::format(
        "the sides differ by a factor of about {:g}: one of them is in another unit; name the same metric in the same unit",
        factor);
  }
  return {};
}

void note_wide_spreads(RunComparison& comparison) {
  for (const ComparedSide* side : {&comparison.base, &comparison.next}) {
    if (!side->statistics || !side->statistics->standard_deviation) continue;
    const double spread = *side->statistics->standard_deviation / side->statistics->mean;
    if (spread <= kSuspiciousSpread) continue;
    comparison.notes.push_back(fmt::format(
        "the repeats of the {} differ by {:.1f} % (standard deviation): if they are several configurations, tell them apart with --match-by",
        side == &comparison.base ? "base" : "new side", 100 * spread));
  }
}

void note_method(RunComparison& comparison) {
  if (comparison.change && comparison.change->method == ChangeMethod::measurement) {
    comparison.notes.emplace_back(
        "one run on each side: the interval is that of the measurement, without what repeats differ by");
  }
  if (comparison.change && comparison.change->method == ChangeMethod::one_spread) {
    comparison.notes.emplace_back(
        "one side has a single run: the spread of the other side is taken for both");
  }
}

ChangeVerdict change_verdict_of(const RelativeChange& change, const CompareRule& rule) {
  if (-rule.margin <= change.low && change.high <= rule.margin) return ChangeVerdict::equivalent;
  if (change.low > 0) {
    return rule.is_higher_better ? ChangeVerdict::better : ChangeVerdict::worse;
  }
  if (change.high < 0) {
    return rule.is_higher_better ? ChangeVerdict::worse : ChangeVerdict::better;
  }
  return ChangeVerdict::insufficient;
}

}  // namespace

std::string_view change_verdict_name(ChangeVerdict verdict) {
  constexpr std::string_view kNames[] = {"worse", "better", "equivalent", "insufficient"};
  return kNames[static_cast<std::size_t>(verdict)];
}

void summarize_sides(RunComparison& comparison) {
  for (ComparedSide* side : {&comparison.base, &comparison.next}) {
    side->statistics.reset();
    if (side->repeats.values.empty() || !side->endless.empty()) continue;
    side->statistics = repeat_statistics(side->repeats);
  }
  note_wide_spreads(comparison);
}

void judge_change(RunComparison& comparison, const CompareRule& rule) {
  summarize_sides(comparison);
  comparison.verdict = ChangeVerdict::insufficient;
  if (!comparison.base.statistics || !comparison.next.statistics) return;
  comparison.change = relative_change(comparison.base.repeats, comparison.next.repeats,
                                      comparison.accuracy, rule.alpha);
  if (comparison.change && other_unit(comparison).empty()) {
    comparison.verdict = change_verdict_of(*comparison.change, rule);
  }
  note_method(comparison);
}

void explain_lack(RunComparison& comparison, const CompareRule& rule) {
  if (comparison.verdict != ChangeVerdict::insufficient || !comparison.lack.empty()) return;
  if (!comparison.base.statistics || !comparison.next.statistics) {
    comparison.lack = lack_of_runs(comparison);
  } else {
    comparison.lack = other_unit(comparison);
    if (comparison.lack.empty()) comparison.lack = lack_of_evidence(comparison, rule);
  }
}

OverallVerdict overall_verdict(const RunComparisons& compared) {
  OverallVerdict overall;
  constexpr ChangeVerdict kOrder[] = {ChangeVerdict::worse, ChangeVerdict::insufficient,
                                      ChangeVerdict::better, ChangeVerdict::equivalent};
  const auto size_of = [](const RunComparison& one) {
    return one.change ? std::abs(one.change->change) : -1;
  };
  for (const ChangeVerdict verdict : kOrder) {
    for (const RunComparison& one : compared.comparisons) {
      if (one.verdict != verdict) continue;
      const bool is_larger =
          overall.decided_by == nullptr || size_of(one) > size_of(*overall.decided_by);
      if (is_larger) overall = {verdict, &one};
    }
    if (overall.decided_by != nullptr) break;
  }
  return overall;
}

bool is_higher_better_by_name(std::string_view metric) {
  // Whole words: there is a "tput" in "output".
  constexpr std::string_view kWords[] = {"_tput_", "_throughput_", "_goodput_", "_intvty_",
                                         "_tokens_per_"};
  constexpr std::string_view kCosts[] = {"_joules_per_", "_energy_per_", "_watts_per_"};
  std::string name = "_";
  for (const unsigned char c : metric) {
    name += std::isalnum(c) == 0 ? '_' : static_cast<char>(std::tolower(c));
  }
  name += '_';
  const auto is_there = [&](std::string_view word) { return name.find(word) != name.npos; };
  return std::ranges::any_of(kWords, is_there) && std::ranges::none_of(kCosts, is_there);
}

}  // namespace aggregate_power
