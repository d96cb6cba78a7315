// Matches runs by configuration, and takes the values that count.
#include "decide/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/error.h"
#include "aggregate_power/load.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/suggest.h"
#include "core/model/units.h"
#include "core/record/edits.h"
#include "decide/compare/facility.h"
#include "decide/recommend/run_limits.h"
#include "decide/recommend/sweep.h"
#include "energy/uncertainty/interval.h"
#include "recorders/energy_rate.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/unmeasured_runs.h"

namespace aggregate_power {
namespace {

struct TwoSides {
  std::vector<const PublishedRun*> base;
  std::vector<const PublishedRun*> next;
};

using ByConfiguration = std::map<Configuration, TwoSides, ConfigurationLess>;

// ---- Values

// Whether it is computed from what sensors read.
bool is_of_power(const std::string& metric) {
  return is_our_key(metric) || is_facility_key(metric) || compare::is_good_key(metric);
}

// A number of ours, or any other number in the aggregate.
std::optional<double> compared_value(const PublishedRun& run, const std::string& metric) {
  if (const auto number = run.number(metric)) return number->value;
  const std::optional<double> value = nearest_double(run.text_of(metric));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Of the shortest text that means the number.
int compared_decimals(double value) {
  const std::string text = fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  const std::size_t point = text.find('.');
  int decimals = 0;
  if (point != std::string::npos) {
    const std::size_t end = std::min(exponent, text.size());
    decimals = static_cast<int>(end - point - 1);
  }
  if (exponent != std::string::npos) decimals -= std::stoi(text.substr(exponent + 1));
  return decimals;
}

// A value may end in zeros that are not written, so the value with the most digits counts.
double half_last_digit_of(const std::vector<const PublishedRun*>& runs, const std::string& metric,
                          bool is_ours) {
  const bool is_of_energy =
      is_facility_key(metric) || (compare::is_good_key(metric) && metric.starts_with("joules_"));
  if (is_of_energy && is_ours) {  // rounded where its energy was
    double factor = 0;
    for (const PublishedRun* run : runs) {
      const auto energy = run->number("total_gpu_energy_j");
      const auto value = run->number(metric);
      if (energy && value && energy->value > 0) {
        factor = std::max(factor, std::abs(value->value) / energy->value);
      }
    }
    return factor * half_last_digit_of(runs, "total_gpu_energy_j", true);
  }
  int decimals = is_ours ? (metric.starts_with("joules_") ? 6 : 3) : 0;
  for (const PublishedRun* run : runs) {
    decimals = std::max(decimals, compared_decimals(compared_value(*run, metric).value_or(0)));
  }
  return 0.5 * std::pow(10, -decimals);
}

std::optional<double> compared_estimate(const PublishedRun& run, const std::string& metric) {
  const auto number = run.number(metric);
  if (!number || !number->repeatability || number->repeatability->is_of_window())
    return std::nullopt;
  const double estimate = number->repeatability->estimate;
  return estimate > 0 ? std::optional(estimate) : std::nullopt;
}

bool have_estimates(const std::vector<const PublishedRun*>& runs, const std::string& metric) {
  return std::ranges::all_of(
      runs, [&](const PublishedRun* run) { return compared_estimate(*run, metric).has_value(); });
}

MeasuredValue compared_measurement(const PublishedRun& run, const std::string& metric,
                                   bool uses_estimates) {
  MeasuredValue measured{.value = compared_value(run, metric).value_or(0)};
  if (uses_estimates) measured.value = *compared_estimate(run, metric);
  const auto number = run.number(metric);
  if (!number || !number->repeatability) return measured;
  const double own = number->repeatability->standard_uncertainty;
  measured.repeatability = own / measured.value;
  if (measured.value == number->repeatability->estimate) {
    measured.bounds = {{number->repeatability->low, number->repeatability->high}};
  }
  if (number->flowed) {
    const double whole = number->flowed->standard_uncertainty;
    measured.accuracy = std::sqrt(std::max(0.0, whole * whole - own * own)) / measured.value;
    measured.shared_gain = number->flowed->shared_gain / measured.value;
  }
  return measured;
}

// ---- Which runs count

std::string why_not_valid(const PublishedRun& run) {
  if (!run.doubt.empty()) return "not valid: " + run.doubt;
  return run.reasons.empty() ? "its power is not valid"
                             : fmt::format("not valid: {}", fmt::join(run.reasons, ", "));
}

std::string why_not_used(const PublishedRun& run, const CompareRule& rule, bool is_ours) {
  if (run.state == PowerState::not_valid) return why_not_valid(run);
  const std::optional<double> value = compared_value(run, rule.metric);
  if (!value && run.state == PowerState::none && is_ours) return "it has no power";
  if (!value) return fmt::format("it has no '{}'", rule.metric);
  if (!(*value > 0)) return fmt::format("its '{}' is not above 0", rule.metric);
  if (is_beyond_measure(*value)) {
    return fmt::format("its '{}' is {}, which no run can have", rule.metric, *value);
  }
  return {};
}

// Why a number of its good work is 0 or infinite, from which no change can be computed. Empty: it
// is neither.
std::string why_endless(const PublishedRun& run, const std::string& metric) {
  const auto number = run.number(metric);
  if (!compare::is_good_key(metric) || !number) return {};
  if (number->value > 0 && std::isfinite(number->value)) return {};
  return fmt::format("{}, so its {} is {}",
                     metric == compare::kSloHolds      ? "the objective does not hold"
                     : metric == compare::kMissedShare ? "every request is good"
                                                       : "it has no good request",
                     metric, number->value > 0 ? "infinite" : "0");
}

// `runs` are sorted by name; those that count remain.
void keep_used(std::vector<const PublishedRun*>& runs, bool is_new, const CompareRule& rule,
               bool is_ours, std::vector<ExcludedRun>& excluded) {
  KnownMeasurements known;
  std::erase_if(runs, [&](const PublishedRun* run) {
    std::string reason = why_endless(*run, rule.metric);
    if (reason.empty()) reason = why_not_used(*run, rule, is_ours);
    if (reason.empty()) {
      const double value = compared_value(*run, rule.metric).value_or(0);
      if (const PublishedRun* const first = known.copied_or_added(*run, value)) {
        reason = fmt::format("the same measurement as {}: a copy is no repeat", first->name);
      }
    }
    if (reason.empty()) return false;
    excluded.push_back({run->name, is_new, std::move(reason)});
    return true;
  });
}

// ---- One configuration

// The first run of a side with such a number.
std::string endless_side(const std::vector<const PublishedRun*>& runs, const std::string& metric) {
  for (const PublishedRun* const run : runs) {
    const std::string why = run->state == PowerState::valid ? why_endless(*run, metric) : "";
    if (why.empty()) continue;
    return fmt::format(
        "{}: {}: with it no change can be computed, and without it the others are not the whole side; give another --slo, or compare by {}",
        run->name, why, kDefaultCompareMetric);
  }
  return {};
}

ComparedSide compared_side(const std::vector<const PublishedRun*>& runs, const std::string& metric,
                           bool uses_estimates, double half_last_digit) {
  ComparedSide side;
  if (!runs.empty() && std::ranges::all_of(runs, [](const PublishedRun* run) {
        return run->number(compare::kMissedShare).has_value();
      })) {
    side.missed_share = compare::number_of_runs(runs, compare::kMissedShare);
  }
  for (const PublishedRun* run : runs) {
    side.files.push_back(run->name);
    side.repeats.values.push_back(compared_measurement(*run, metric, uses_estimates));
  }
  side.repeats.half_last_digit = half_last_digit;
  return side;
}

// Nothing can have changed where both sides are copies of one measurement: such sides have no
// verdict, as files that are on both sides have none.
void refuse_copies(const TwoSides& sides, const std::string& metric, RunComparison& comparison) {
  const auto value_of = [&](const PublishedRun& run) {
    return compared_value(run, metric).value_or(0);
  };
  KnownMeasurements base;
  for (const PublishedRun* run : sides.base) base.add(*run, value_of(*run));
  for (const PublishedRun* run : sides.next) {
    const PublishedRun* const copied = base.copied_by(*run, value_of(*run));
    if (copied == nullptr) continue;
    comparison.verdict = ChangeVerdict::insufficient;
    comparison.lack = fmt::format(
        "{} and {}, on both sides, are copies of one measurement: give each run on one side only",
        copied->name, run->name);
    return;
  }
}

// Runs that say nothing of their load, such as results of `measure` whose generator states no
// settings, are matched by nothing.
void note_unstated_load(const CompareRule& rule, RunComparison& comparison) {
  constexpr std::string_view kOfLoad[] = {
      "conc",         "users",      "concurrency", "max_concurrency", "isl",
      "request_rate", "batch_size", "model",       "model_id"};
  if (!rule.match_by.empty()) return;
  const bool states_load = std::ranges::any_of(comparison.configuration, [&](const auto& member) {
    return std::ranges::find(kOfLoad, member.first) != std::end(kOfLoad);
  });
  if (states_load) return;
  comparison.notes.emplace_back(
      "no run states its model, concurrency or request rate (model, conc, request_rate): that both sides ran alike is assumed");
}

// Settings by which runs are not matched, and on which their energy may depend.
void note_other_settings(const TwoSides& sides, const CompareRule& rule,
                         RunComparison& comparison) {
  static const std::vector<std::string_view> settings = separated(
      "draft_model speculative_model num_speculative_tokens lora enable_lora thinking "
      "enable_thinking kv_cache_dtype max_model_len enable_prefix_caching enable_chunked_prefill "
      "max_num_batched_tokens driver_version cuda_version rocm_version");
  if (!rule.match_by.empty() || sides.base.empty() || sides.next.empty()) return;
  std::vector<std::string> found;
  for (const std::string_view key : settings) {
    const auto values_of = [&](const std::vector<const PublishedRun*>& runs) {
      std::set<std::string> values;
      for (const PublishedRun* const run : runs) {
        const std::string value = run->text_of(key);
        values.insert(value.empty() ? "not stated" : printable(value));
      }
      return values;
    };
    const std::set<std::string> base = values_of(sides.base);
    const std::set<std::string> next = values_of(sides.next);
    if (base == next) continue;
    found.push_back(
        fmt::format("{} ({} and {})", key, fmt::join(base, ", "), fmt::join(next, ", ")));
  }
  if (found.empty()) return;
  comparison.notes.push_back(fmt::format(
      "runs are not matched by {}, which differ between the sides: --match-by names what must be alike",
      fmt::join(found, ", ")));
}

// How far off a run may be, relative, where its estimated window makes the interval of repeats
// wider than their spread; else 0.
double estimated_share(const std::vector<const PublishedRun*>& runs, const ComparedSide& side) {
  const bool are_estimated = std::ranges::all_of(runs, [](const PublishedRun* run) {
    return run->text_of("window_source") == window_source_name(WindowSource::estimated);
  });
  const bool are_stated = std::ranges::all_of(side.repeats.values, [](const MeasuredValue& value) {
    return value.repeatability.has_value();
  });
  if (!are_estimated || !are_stated || !side.statistics) return 0;
  const RepeatStatistics& known = *side.statistics;
  if (!known.standard_deviation || !known.uncertainty) return 0;
  const double counted = *known.uncertainty * std::sqrt(static_cast<double>(known.count));
  return counted > *known.standard_deviation / known.mean ? kCoverageFactor * counted : 0;
}

// One text for all, so that it is printed once.
void note_estimated_windows(std::vector<RunComparison>& comparisons) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const RunComparison& one : comparisons) {
    if (one.estimated_share > 0) least = std::min(least, one.estimated_share);
    most = std::max(most, one.estimated_share);
  }
  const std::string low = fmt::format("{:.2g}", 100 * least);
  const std::string high = fmt::format("{:.2g}", 100 * most);
  for (RunComparison& one : comparisons) {
    if (!(one.estimated_share > 0)) continue;
    one.notes.push_back(fmt::format(
        "wider than the spread: each run is known to ±{} % only, since its window is estimated; record with 'aggregate-power-monitor run', and vLLM with --save-detailed, or see 'help generators'",
        low == high ? low : low + " to " + high));
  }
}

// ---- Loads whose lengths only their counts of tokens state

// Repeats of a load differ by less, whatever its requests end with.
constexpr double kSameLength = 1.5;
constexpr double kLikeLength = 1.05;  // more is noted

// What is divided by the requests, the members that would say so, and the joules of each.
struct LengthByCounts {
  std::string_view key;
  std::string_view stated[2];
  std::int64_t PublishedRun::*tokens;
  std::string_view joules;
};
constexpr LengthByCounts kLengths[] = {{"output_tokens_per_request",
                                        {"osl", "output_len"},
                                        &PublishedRun::output_tokens,
                                        "joules_per_output_token"},
                                       {"input_tokens_per_request",
                                        {"isl", "input_len"},
                                        &PublishedRun::input_tokens,
                                        "joules_per_input_token"}};

// By the counts, else by joules of a request and of a token; 0: not known.
double length_of(const PublishedRun& run, const LengthByCounts& length) {
  const double tokens = static_cast<double>(run.*length.tokens);
  if (run.completed_requests > 0) return tokens / static_cast<double>(run.completed_requests);
  const auto of_request = run.number("joules_per_successful_query");
  const auto of_token = run.number(length.joules);
  if (!of_request || !of_token || !(of_token->value > 0)) return 0;
  return of_request->value / of_token->value;
}

// "100", "4.5"
std::string length_text(double length) {
  return fmt::format(fmt::runtime(length < 10 ? "{:.2g}" : "{:.0f}"), length);
}

// The mean of those that are known; 0: of none.
double mean_length(const std::vector<const PublishedRun*>& runs, const LengthByCounts& length) {
  double sum = 0;
  double count = 0;
  for (const PublishedRun* const run : runs) {
    const double one = length_of(*run, length);
    if (!(one > 0)) continue;
    sum += one;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

// What is divided by tokens or requests changes with the lengths, whatever else does.
void note_lengths(const TwoSides& sides, RunComparison& comparison) {
  for (const LengthByCounts& length : kLengths) {
    const double base = mean_length(sides.base, length);
    const double next = mean_length(sides.next, length);
    if (!(base > 0 && next > 0) || std::max(base, next) <= kLikeLength * std::min(base, next)) {
      continue;
    }
    comparison.notes.push_back(fmt::format(
        "{} is {} in the base and {} on the new side: the change is also that of the load",
        length.key, length_text(base), length_text(next)));
  }
}

std::vector<SensorDoubt> doubts_of_side(const std::vector<const PublishedRun*>& runs,
                                        const ComparedSide& side, bool& uses_prior) {
  std::vector<SensorDoubt> doubts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredValue& value = side.repeats.values[i];
    uses_prior = uses_prior || !value.accuracy;
    if (!value.accuracy) {
      doubts.push_back(prior_doubt(*runs[i]));
      continue;
    }
    const double shared = std::min(value.shared_gain, *value.accuracy);
    doubts.push_back({shared, std::sqrt(*value.accuracy * *value.accuracy - shared * shared)});
  }
  return doubts;
}

void settle_boards(const TwoSides& sides, const std::vector<const PublishedRun*>& all,
                   const CompareRule& rule, bool is_ours, RunComparison& comparison) {
  comparison.boards = rule.boards.value_or(boards_of(all));
  if (sides.base.empty() || sides.next.empty()) return;
  if (comparison.boards == Boards::assumed_same) {
    comparison.notes.emplace_back(
        "the boards are assumed to be the same: no UUIDs, and nothing that differs; otherwise give --boards different");
  }
  if (comparison.boards != Boards::different || !is_ours) return;
  bool uses_prior = false;
  comparison.accuracy = doubt_of_ratio(doubts_of_side(sides.base, comparison.base, uses_prior),
                                       doubts_of_side(sides.next, comparison.next, uses_prior),
                                       are_of_one_model(all));
  comparison.notes.push_back(fmt::format(
      "different boards: what their sensors add is {:.2g} % (standard uncertainty{})",
      100 * comparison.accuracy,
      uses_prior ? ", from public measurements of other boards: --uncertainty states it" : ""));
}

// ---- Whether repeats drift

// By least squares, over the times at which runs began.
struct RepeatTrend {
  double rise = 0;         // from the first to the last run, relative to the mean
  double probability = 1;  // of such a slope, up or down, without a trend
};

std::optional<RepeatTrend> trend_of(const std::vector<std::pair<double, double>>& points) {
  constexpr std::size_t kLeastRuns = 5;
  if (points.size() < kLeastRuns) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double mean_s = 0;
  double mean = 0;
  for (const auto& [at_s, value] : points) {
    mean_s += at_s / count;
    mean += value / count;
  }
  double tt = 0;
  double tv = 0;
  double vv = 0;
  for (const auto& [at_s, value] : points) {
    tt += (at_s - mean_s) * (at_s - mean_s);
    tv += (at_s - mean_s) * (value - mean);
    vv += (value - mean) * (value - mean);
  }
  if (!(tt > 0) || !(vv > 0)) return std::nullopt;
  const double slope = tv / tt;
  const double left = std::max(0.0, vv - slope * tv) / (count - 2) / tt;
  const auto [first, last] = std::ranges::minmax(points, {}, &std::pair<double, double>::first);
  RepeatTrend trend{.rise = slope * (last.first - first.first) / mean};
  trend.probability =
      left > 0 ? 2 * student_t_probability(-std::abs(slope) / std::sqrt(left), count - 2) : 0;
  return trend;
}

std::optional<RepeatTrend> trend_of_runs(const std::vector<const PublishedRun*>& runs,
                                         const std::string& key) {
  std::vector<std::pair<double, double>> points;
  for (const PublishedRun* const run : runs) {
    const std::optional<double> value = compared_value(*run, key);
    if (run->start_unix_s > 0 && value) points.emplace_back(run->start_unix_s, *value);
  }
  return points.size() == runs.size() ? trend_of(points) : std::nullopt;
}

// Repeats that rise or fall with the time: warm-up, drift or wear, not chance. A probability of 1 %
// or less, and more than 0.1 % from the first to the last.
void note_trend(const std::vector<const PublishedRun*>& runs, bool is_new,
                const std::string& metric, std::vector<std::string>& notes) {
  constexpr double kMostProbable = 0.01;
  constexpr double kLeastRise = 0.001;
  const auto trend = trend_of_runs(runs, metric);
  if (!trend || trend->probability > kMostProbable || std::abs(trend->rise) < kLeastRise) return;
  std::string text = fmt::format(
      "the repeats of the {} change by {:+.1f} % from the first to the last, in the order in which they ran",
      is_new ? "new side" : "base", 100 * trend->rise);
  const auto warming = trend_of_runs(runs, "avg_temp_c");
  if (warming && warming->probability <= kMostProbable) {
    text += fmt::format(", and so does the temperature, by {:+.1f} %", 100 * warming->rise);
  }
  notes.push_back(
      text +
      ": warm up first, wait longer between runs, and alternate the sides, as 'aggregate-power plan' does");
}

RunComparison comparison_of(const Configuration& configuration, TwoSides sides,
                            const CompareRule& rule, CompareKind kind,
                            const LimitsByRun& limits_w) {
  RunComparison comparison;
  comparison.configuration = configuration;
  const bool is_ours = is_of_power(rule.metric);
  std::string endless_base = endless_side(sides.base, rule.metric);
  std::string endless_next = endless_side(sides.next, rule.metric);
  keep_used(sides.base, false, rule, is_ours, comparison.excluded);
  keep_used(sides.next, true, rule, is_ours, comparison.excluded);
  if (kind == CompareKind::mirrored) sides.next = sides.base;
  std::vector<const PublishedRun*> all = sides.base;
  append(all, sides.next);
  comparison.uses_estimates = !all.empty() && have_estimates(all, rule.metric);
  const double half_last_digit = half_last_digit_of(all, rule.metric, is_ours);
  comparison.base =
      compared_side(sides.base, rule.metric, comparison.uses_estimates, half_last_digit);
  comparison.next =
      compared_side(sides.next, rule.metric, comparison.uses_estimates, half_last_digit);
  comparison.base.endless = endless_base;
  comparison.next.endless = kind == CompareKind::mirrored ? endless_base : endless_next;
  if (kind == CompareKind::base_alone) {
    summarize_sides(comparison);
  } else {
    if (kind == CompareKind::two_sides) {
      note_unstated_load(rule, comparison);
      note_other_settings(sides, rule, comparison);
      note_lengths(sides, comparison);
    }
    settle_boards(sides, all, rule, is_ours, comparison);
    judge_change(comparison, rule);
    if (kind == CompareKind::two_sides) refuse_copies(sides, rule.metric, comparison);
  }
  if (kind == CompareKind::mirrored) sides.next.clear();
  comparison.estimated_share = std::max(estimated_share(sides.base, comparison.base),
                                        estimated_share(sides.next, comparison.next));
  append(comparison.notes, limit_notes(limits_w, sides.base, sides.next));
  note_trend(sides.base, false, rule.metric, comparison.notes);
  note_trend(sides.next, true, rule.metric, comparison.notes);
  return comparison;
}

// ---- Parting by lengths

// The mean of each group of lengths that are alike; several, or none.
std::vector<double> distinct_lengths(const TwoSides& sides, const LengthByCounts& length) {
  std::vector<double> known;
  for (const auto* const side : {&sides.base, &sides.next}) {
    for (const PublishedRun* const run : *side) known.push_back(length_of(*run, length));
  }
  std::erase_if(known, [](double one) { return !(one > 0); });
  std::ranges::sort(known);
  std::vector<double> means;
  for (std::size_t i = 0, first = 0; i < known.size(); ++i) {
    if (i + 1 < known.size() && known[i + 1] <= kSameLength * known[first]) continue;
    means.push_back(std::accumulate(&known[first], &known[i] + 1, 0.0) /
                    static_cast<double>(i + 1 - first));
    first = i + 1;
  }
  return means.size() > 1 ? means : std::vector<double>();
}

// Parts the runs of each configuration that states no lengths, and has runs of several.
ByConfiguration parted_by_length(ByConfiguration found, const LengthByCounts& length) {
  ByConfiguration parted;
  for (auto& [configuration, sides] : found) {
    const bool is_stated = std::ranges::any_of(configuration, [&](const auto& member) {
      return std::ranges::find(length.stated, member.first) != std::end(length.stated);
    });
    const std::vector<double> means =
        is_stated ? std::vector<double>() : distinct_lengths(sides, length);
    const auto place_of = [&, &of_all = configuration](const PublishedRun& run) -> TwoSides& {
      Configuration own = of_all;
      const double one = length_of(run, length);
      if (one > 0 && !means.empty()) {
        const double nearest = *std::ranges::min_element(
            means, {}, [&](double mean) { return std::abs(std::log(mean / one)); });
        own.emplace_back(length.key, length_text(nearest));
      }
      return parted[std::move(own)];
    };
    for (const PublishedRun* const run : sides.base) place_of(*run).base.push_back(run);
    for (const PublishedRun* const run : sides.next) place_of(*run).next.push_back(run);
  }
  return parted;
}

// ---- All configurations

bool side_has_power(const TwoSides& sides) {
  const auto has_any = [](const PublishedRun* run) { return run->state != PowerState::none; };
  return std::ranges::any_of(sides.base, has_any) || std::ranges::any_of(sides.next, has_any);
}

void pass_over(const TwoSides& sides, std::vector<ExcludedRun>& without_power) {
  for (const PublishedRun* run : sides.base) {
    without_power.push_back({run->name, false, "it has no power"});
  }
  for (const PublishedRun* run : sides.next) {
    without_power.push_back({run->name, true, "it has no power"});
  }
}

// ---- Configurations of one side only

const std::string* configuration_member(const Configuration& configuration,
                                        const std::string& key) {
  const auto found = std::ranges::find(configuration, key, &Configuration::value_type::first);
  return found == configuration.end() ? nullptr : &found->second;
}

bool has_value(const Configuration& configuration, const std::string& key,
               const std::string& value) {
  const std::string* const own = configuration_member(configuration, key);
  return own != nullptr && *own == value;
}

// The keys whose values differ, in their order.
std::vector<std::string> differing_keys(const Configuration& a, const Configuration& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a) {
    if (!has_value(b, key, value)) keys.push_back(key);
  }
  for (const auto& [key, value] : b) {
    if (configuration_member(a, key) == nullptr) keys.push_back(key);
  }
  return keys;
}

// As few shared members as keep all others apart that all shared ones keep apart, a model first.
std::vector<std::string> keys_to_match(const Configuration& base, const Configuration& next,
                                       const std::vector<RunComparison>& all) {
  Configuration shared;
  for (const auto& [key, value] : base) {
    if (has_value(next, key, value)) shared.emplace_back(key, value);
  }
  std::stable_partition(shared.begin(), shared.end(), [](const auto& member) {
    return member.first.starts_with("model") || member.first.ends_with("model_prefix");
  });
  std::vector<std::string> keys;
  for (const auto& [key, value] : shared) {
    const auto is_kept_apart = [&](const RunComparison& one) {
      return std::ranges::any_of(keys, [&](const std::string& known) {
        return !has_value(one.configuration, known, *configuration_member(base, known));
      });
    };
    const bool is_needed =
        std::ranges::any_of(all, [&, &key = key, &value = value](const auto& one) {
          return !has_value(one.configuration, key, value) && !is_kept_apart(one);
        });
    if (keys.empty() || is_needed) keys.push_back(key);
  }
  return keys;
}

// "conc is 16 on one side and 256 on the other; --match-by model compares them all the same"
std::string other_settings(const Configuration& base, const Configuration& next,
                           const std::vector<RunComparison>& all) {
  const auto shown = [](const Configuration& configuration, const std::string& key) {
    const std::string* const value = configuration_member(configuration, key);
    return value == nullptr ? "not stated" : *value;
  };
  std::string text = joined_text(differing_keys(base, next), ", ", [&](const std::string& key) {
    return fmt::format("{} is {} on one side and {} on the other", key, shown(base, key),
                       shown(next, key));
  });
  const std::vector<std::string> keys = keys_to_match(base, next, all);
  if (keys.empty()) return text;
  return fmt::format("{}; --match-by {} compares them all the same", text, fmt::join(keys, ","));
}

bool is_of_base_alone(const RunComparison& one) {
  return !one.base.files.empty() && one.next.files.empty() && one.excluded.empty();
}

bool is_of_next_alone(const RunComparison& one) {
  return one.base.files.empty() && !one.next.files.empty() && one.excluded.empty();
}

const RunComparison& nearest_to(const RunComparison& one,
                                const std::vector<RunComparison*>& others) {
  return **std::ranges::min_element(others, {}, [&](const RunComparison* other) {
    return differing_keys(one.configuration, other->configuration).size();
  });
}

// Says how the first configurations of one side differ from the nearest one of the other side.
void name_other_settings(std::vector<RunComparison>& comparisons) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<RunComparison*> base;
  std::vector<RunComparison*> next;
  for (RunComparison& one : comparisons) {
    if (is_of_base_alone(one)) base.push_back(&one);
    if (is_of_next_alone(one)) next.push_back(&one);
  }
  if (base.empty() || next.empty()) return;
  for (RunComparison* const one : std::span(base).first(std::min(base.size(), kMostNamed))) {
    one->lack =
        other_settings(one->configuration, nearest_to(*one, next).configuration, comparisons);
  }
  for (RunComparison* const one : std::span(next).first(std::min(next.size(), kMostNamed))) {
    one->lack =
        other_settings(nearest_to(*one, base).configuration, one->configuration, comparisons);
  }
}

using RunsOfEach = std::vector<std::vector<const PublishedRun*>>;

// `runs`: of each comparison its runs, in the same order.
void find_best(const RunsOfEach& runs, RunComparisons& compared) {
  constexpr std::size_t kMost = 4;
  std::map<Configuration, std::vector<std::size_t>, ConfigurationLess> by_work;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunComparison& one = compared.comparisons[i];
    if (one.base.statistics) by_work[work_of(one.configuration)].push_back(i);
  }
  for (auto& [work, places] : by_work) {
    std::ranges::stable_sort(places, {}, [&](std::size_t i) {
      const double mean = compared.comparisons[i].base.statistics->mean;
      return compared.rule.is_higher_better ? -mean : mean;
    });
    for (const std::size_t other : std::span(places).subspan(1)) {
      if (compared.to_best.size() == kMost) return;
      compared.to_best.push_back(
          {places[0], other, compare_repeats(runs[other], runs[places[0]], compared.rule)});
    }
  }
}

void label_comparisons(RunComparisons& compared) {
  const auto configurations =
      mapped<Configuration>(compared.comparisons, &RunComparison::configuration);
  compared.shared = shared_members(configurations);
  const std::vector<std::string> keys = distinguishing_keys(configurations);
  for (RunComparison& each : compared.comparisons) {
    each.label = distinguishing_text(each.configuration, keys);
  }
}

void require_metric(const std::vector<const PublishedRun*>& all, const std::string& metric) {
  std::vector<std::string> metrics;
  std::set<std::string> members;
  bool any_valid = false;
  for (const PublishedRun* run : all) {
    if (run->state == PowerState::not_valid) continue;
    if (compared_value(*run, metric)) return;
    any_valid = any_valid || run->state == PowerState::valid;
    for (const PublishedNumber& number : run->numbers) {
      if (std::ranges::find(metrics, *number.key) == metrics.end()) metrics.push_back(number.key);
    }
    for (const auto& [name, value] : run->members.all().members) {
      if (value.is_finite_number()) members.insert(name);
    }
  }
  if (any_valid) {
    throw Error(fmt::format("no valid run has '{}'{}; name one of these with --metric: {}", metric,
                            metric == kDefaultCompareMetric
                                ? " (no run has counts of tokens)"
                                : did_you_mean(metric, std::vector(members.begin(), members.end())),
                            fmt::join(metrics, ", ")));
  }
  const auto is_invalid = [](const PublishedRun* run) {
    return run->state == PowerState::not_valid;
  };
  if (std::ranges::none_of(all, is_invalid)) {
    throw Error(fmt::format(
        "none of the {} results has power: patch them first ('aggregate-power backfill FOLDER', or 'aggregate-power patch' for one), or name another of their members with --metric",
        all.size()));
  }
}

// Their numbers of one name are of different computations.
bool has_both_schemas(const std::vector<const PublishedRun*>& all) {
  const auto has = [&](int schema) {
    return std::ranges::any_of(
        all, [&](const PublishedRun* run) { return metric_schema(*run) == schema; });
  };
  return has(1) && has(2);
}

void refuse_run_on_both_sides(const std::vector<PublishedRun>& base,
                              const std::vector<PublishedRun>& next) {
  std::map<std::string, const PublishedRun*> known;
  for (const PublishedRun& run : base) {
    if (!run.identity.empty()) known.emplace(run.identity, &run);
  }
  for (const PublishedRun& run : next) {
    if (run.identity.empty() || !known.contains(run.identity)) continue;
    throw Error(
        fmt::format("{}: it is on both sides: name it as a base or after --with", run.name));
  }
}

std::vector<PublishedRun> runs_by_name(PublishedRuns read, std::vector<std::string>& warnings) {
  append(warnings, std::move(read.warnings));
  std::ranges::sort(read.runs, [](const PublishedRun& a, const PublishedRun& b) {
    return std::tie(a.name, a.identity) < std::tie(b.name, b.identity);
  });
  return std::move(read.runs);
}

// As the lowest of those that are the same has it.
std::string limit_member(double limit_w, const std::vector<double>& distinct_w) {
  const auto same = std::ranges::find_if(
      distinct_w, [&](double other_w) { return is_same_limit(limit_w, other_w); });
  return fmt::format("{:.6g}", same == distinct_w.end() ? limit_w : *same);
}

PublishedRuns read_or_measure(const CompareRequest& request, const std::vector<std::string>& places,
                              std::size_t& measured, std::vector<std::string>& notes) {
  PublishedRuns found = read_published_runs(places, request.most_threads, request.access);
  measured += add_unmeasured_runs(places, request.measuring, request.most_threads, found);
  append(notes, std::move(found.notes));
  return found;
}

}  // namespace

RunComparisons compare_runs(const CompareRequest& request) {
  RunComparisons compared{
      .rule = request.rule, .kind = request.kind, .rates = read_facility_rates(request.facility)};
  std::size_t measured = 0;
  const auto runs_at = [&](const std::vector<std::string>& places) {
    return runs_by_name(read_or_measure(request, places, measured, compared.notes),
                        compared.warnings);
  };
  std::vector<PublishedRun> base = runs_at(request.base);
  std::vector<PublishedRun> next = runs_at(request.next);
  if (measured == 0) note_unused_options(request.measuring, compared.notes);
  if (compared.rates.is_asked()) {
    add_facility_numbers(compared.rates, base, compared.warnings);
    add_facility_numbers(compared.rates, next, compared.warnings);
    append(compared.warnings, facility_doubts(compared.rates));
  }
  auto both = mapped<PublishedRun*>(base, [](PublishedRun& run) { return &run; });
  for (PublishedRun& run : next) both.push_back(&run);
  if (request.slo.is_asked()) {
    compare::add_good_numbers(request.slo, request.most_threads, both, compared.warnings);
  }
  std::ranges::sort(compared.warnings);
  refuse_run_on_both_sides(base, next);
  const std::vector<const PublishedRun*> all(both.begin(), both.end());
  if (all.empty()) throw Error(fmt::format("no results in {}", fmt::join(request.base, ", ")));
  require_members("--match-by", all, request.rule.match_by);
  require_metric(all, request.rule.metric);

  const LimitsByRun limits_w = limits_by_run(both, request.most_threads);
  std::vector<double> distinct_w;
  for (const auto& [run, limit_w] : limits_w) distinct_w.push_back(limit_w);
  distinct_w = distinct_limits(std::move(distinct_w));
  ByConfiguration found;
  const bool is_mixed = has_both_schemas(all);
  if (is_mixed) {
    compared.warnings.emplace_back(
        "runs of schema 1 (means of samples) and of schema 2 (integrals) are not mixed: compute the older ones again with --schema 2, for example with 'aggregate-power backfill'");
  }
  const auto place_of = [&](const PublishedRun& run) -> TwoSides& {
    Configuration configuration = configuration_of(run, request.rule.match_by);
    if (is_mixed) configuration.emplace_back("schema", fmt::format("{}", metric_schema(run)));
    const auto limit = limits_w.find(&run);
    if (request.parts_limits && limit != limits_w.end()) {
      configuration.emplace_back("power_limit_w", limit_member(limit->second, distinct_w));
    }
    return found[std::move(configuration)];
  };
  for (const PublishedRun& run : base) place_of(run).base.push_back(&run);
  for (const PublishedRun& run : next) place_of(run).next.push_back(&run);
  if (request.rule.match_by.empty()) {
    for (const LengthByCounts& length : kLengths) {
      found = parted_by_length(std::move(found), length);
    }
  }
  const bool needs_power = is_of_power(request.rule.metric);
  RunsOfEach runs_of_base;
  for (auto& [configuration, sides] : found) {
    if (needs_power && !side_has_power(sides)) {
      pass_over(sides, compared.without_power);
    } else {
      runs_of_base.push_back(sides.base);
      compared.comparisons.push_back(
          comparison_of(configuration, std::move(sides), request.rule, request.kind, limits_w));
    }
  }
  if (request.kind == CompareKind::two_sides) {
    for (RunComparison& one : compared.comparisons) explain_lack(one, request.rule);
    name_other_settings(compared.comparisons);
  }
  note_estimated_windows(compared.comparisons);
  if (request.kind == CompareKind::base_alone) find_best(runs_of_base, compared);
  label_comparisons(compared);
  return compared;
}

RunComparison compare_repeats(std::vector<const PublishedRun*> base,
                              std::vector<const PublishedRun*> next, const CompareRule& rule) {
  const CompareKind kind = next.empty() ? CompareKind::base_alone : CompareKind::two_sides;
  return comparison_of({}, {std::move(base), std::move(next)}, rule, kind, {});
}

std::vector<bool> certain_rises(std::vector<std::vector<const PublishedRun*>> sides,
                                const CompareRule& rule) {
  struct Side {
    ComparedSide values;
    std::vector<SensorDoubt> doubts = {};
    std::size_t boards = 0;  // the same number for equal boards
  };
  const bool is_ours = is_of_power(rule.metric);
  std::vector<const PublishedRun*> all;
  for (std::vector<const PublishedRun*>& runs : sides) {
    std::vector<ExcludedRun> excluded;
    if (!endless_side(runs, rule.metric).empty()) runs.clear();
    keep_used(runs, false, rule, is_ours, excluded);
    append(all, runs);
  }
  const bool uses_estimates = !all.empty() && have_estimates(all, rule.metric);
  const double half_last_digit = half_last_digit_of(all, rule.metric, is_ours);
  std::map<std::string, std::size_t> boards;
  std::vector<Side> read;
  for (const std::vector<const PublishedRun*>& runs : sides) {
    Side& side =
        read.emplace_back(Side{compared_side(runs, rule.metric, uses_estimates, half_last_digit)});
    if (runs.empty()) continue;
    bool uses_prior = false;
    side.values.statistics = repeat_statistics(side.values.repeats);
    side.doubts = doubts_of_side(runs, side.values, uses_prior);
    side.boards = boards.try_emplace(boards_text(runs), boards.size()).first->second;
  }
  // As settle_boards() has it, once for two kinds of boards: whether they differ, and in the model.
  std::map<std::pair<std::size_t, std::size_t>, std::pair<bool, bool>> known;
  const auto accuracy = [&](std::size_t base, std::size_t next) {
    const auto [found, is_new] = known.try_emplace({read[base].boards, read[next].boards});
    if (is_new) {
      std::vector<const PublishedRun*> both = sides[base];
      both.insert(both.end(), sides[next].begin(), sides[next].end());
      found->second = {is_ours && rule.boards.value_or(boards_of(both)) == Boards::different,
                       are_of_one_model(both)};
    }
    const auto [are_different, are_of_one] = found->second;
    return are_different ? doubt_of_ratio(read[base].doubts, read[next].doubts, are_of_one) : 0;
  };
  std::vector<bool> rises(read.size() * read.size(), false);
  for (std::size_t i = 0; i < rises.size(); ++i) {
    const std::size_t base = i / read.size();
    const std::size_t next = i % read.size();
    const auto& before = read[base].values.statistics;
    const auto& after = read[next].values.statistics;
    if (!before || !after || !(after->mean > before->mean)) continue;
    const auto ratio = ratio_of_means(read[base].values.repeats, *before, read[next].values.repeats,
                                      *after, accuracy(base, next));
    rises[i] = ratio && ratio->is_certainly_above_one(rule.alpha);
  }
  return rises;
}

// ---- Orders configurations, and names them by what differs.

namespace {

// Numbers come before other texts.
bool member_text_less(const std::string& a, const std::string& b) {
  const std::optional<double> a_number = nearest_double(a);
  const std::optional<double> b_number = nearest_double(b);
  if (a_number.has_value() != b_number.has_value()) return a_number.has_value();
  if (a_number && *a_number != *b_number) return *a_number < *b_number;
  return a < b;
}

bool is_shared_member(const std::string& key, const std::vector<Configuration>& configurations) {
  const std::string* const first = configuration_member(configurations.front(), key);
  return first != nullptr &&
         std::ranges::all_of(configurations, [&](const Configuration& configuration) {
           const std::string* const value = configuration_member(configuration, key);
           return value != nullptr && *value == *first;
         });
}

}  // namespace

bool ConfigurationLess::operator()(const Configuration& a, const Configuration& b) const {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) return a[i].first < b[i].first;
    if (a[i].second != b[i].second) return member_text_less(a[i].second, b[i].second);
  }
  return a.size() < b.size();
}

Configuration work_of(const Configuration& configuration) {
  constexpr std::string_view kWorkKeys[] = {"model",         "model_id",      "model_name",
                                            "model_prefix",  "scenario_type", "infmax_model_prefix",
                                            "dataset",       "isl",           "osl",
                                            "input_len",     "output_len",    kLengths[0].key,
                                            kLengths[1].key, "schema"};
  Configuration work;
  std::ranges::copy_if(configuration, std::back_inserter(work), [&](const auto& member) {
    return std::ranges::find(kWorkKeys, member.first) != std::end(kWorkKeys);
  });
  return work;
}

Configuration shared_members(const std::vector<Configuration>& configurations) {
  Configuration shared;
  if (configurations.size() < 2) return shared;
  for (const auto& [key, value] : configurations.front()) {
    if (is_shared_member(key, configurations)) shared.emplace_back(key, value);
  }
  return shared;
}

std::vector<std::string> distinguishing_keys(const std::vector<Configuration>& configurations) {
  if (configurations.empty()) return {};
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Configuration& each : configurations) {
    for (const auto& [key, value] : each) {
      if (!seen.insert(key).second) continue;
      const bool is_alone = configurations.size() == 1;
      if (is_alone || !is_shared_member(key, configurations)) keys.push_back(key);
    }
  }
  return keys;
}

std::string distinguishing_text(const Configuration& configuration,
                                const std::vector<std::string>& keys) {
  Configuration apart;
  for (const std::string& key : keys) {
    const std::string* const own = configuration_member(configuration, key);
    apart.emplace_back(key, own == nullptr ? "?" : *own);
  }
  return configuration_text(apart);
}

// ---- Gathers the power limits of runs, and names those that differ.

namespace {

constexpr std::size_t kMostReadForLimits = 200;

// From the lowest to the highest, each once.
std::vector<double> limits_of_side(const LimitsByRun& limits_w,
                                   const std::vector<const PublishedRun*>& runs) {
  std::vector<double> known_w;
  for (const PublishedRun* const run : runs) {
    const auto found = limits_w.find(run);
    if (found != limits_w.end()) known_w.push_back(found->second);
  }
  return distinct_limits(std::move(known_w));
}

// "250 W, 300 W"
std::string limits_text(const std::vector<double>& limits_w) {
  return joined_text(limits_w, ", ",
                     [](const double limit_w) { return fmt::format("{:.6g} W", limit_w); });
}

}  // namespace

LimitsByRun limits_by_run(const std::vector<PublishedRun*>& runs, unsigned most_threads) {
  const bool are_read = runs.size() <= kMostReadForLimits;
  std::vector<std::optional<double>> found_w(runs.size());
  in_parallel(runs.size(), most_threads, [&](std::size_t i) {
    PublishedRun& run = *runs[i];
    if (run.state != PowerState::valid) return;
    found_w[i] = stated_limit_w(run);
    if (!are_read || (found_w[i] && !run.gpu_uuids.empty())) return;
    SweptLimit read = limit_of_run(run, "");
    if (!found_w[i]) found_w[i] = read.in_force_w;
    if (run.gpu_uuids.empty()) run.gpu_uuids = std::move(read.gpu_uuids);
  });
  LimitsByRun limits_w;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (found_w[i]) limits_w.emplace(runs[i], *found_w[i]);
  }
  return limits_w;
}

std::vector<std::string> limit_notes(const LimitsByRun& limits_w,
                                     const std::vector<const PublishedRun*>& base,
                                     const std::vector<const PublishedRun*>& next) {
  const std::vector<double> before_w = limits_of_side(limits_w, base);
  const std::vector<double> after_w = limits_of_side(limits_w, next);
  std::vector<std::string> notes;
  for (const auto& [side, side_w] :
       {std::pair("the base", &before_w), {"the new side", &after_w}}) {
    if (side_w->size() < 2) continue;
    notes.push_back(fmt::format(
        "the runs of {} were at several power limits ({}), which widens the interval: compare runs at one limit, or tell them apart with --match-by",
        side, limits_text(*side_w)));
  }
  const bool are_single = before_w.size() == 1 && after_w.size() == 1;
  if (are_single && !is_same_limit(before_w[0], after_w[0])) {
    notes.push_back(fmt::format(
        "the base was at a power limit of {}, the new side at {}: the change is also that of the limit",
        limits_text(before_w), limits_text(after_w)));
  }
  return notes;
}

}  // namespace aggregate_power
