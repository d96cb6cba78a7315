// The table of gap rules.
#include "packages/srt_slurm/gap_rules.h"

#include <cmath>

namespace aggregate_power {
namespace {

constexpr double kLongestOfAnyWindowS = 10;  // in a window of any length
constexpr double kLongestShare = 0.005;      // of the window
constexpr double kMostBlindShare = 0.25;     // of the window, in long gaps
constexpr double kMostMissingShare = 0.05;   // of the window, or of its samples

// More than a share of the intervals around the window have no sample.
bool lost_intervals(const SampleGaps& gaps, const SamplingPace& pace) {
  if (!std::isfinite(pace.interval_s) || pace.interval_s <= 0) return true;
  const double expected = std::floor((gaps.last_unix_s - gaps.first_unix_s) / pace.interval_s);
  return expected > 0 && (expected - gaps.steps) / expected > kMostMissingShare;
}

// More than a share of the window's own samples are missing.
bool lost_samples(const SampleGaps& gaps, double window_s, const SamplingPace& pace) {
  if (!std::isfinite(pace.interval_s) || pace.interval_s <= 0) return false;
  const double expected = std::floor(window_s / pace.interval_s);
  const double allowed = std::max(1.0, std::floor(kMostMissingShare * expected));
  return expected > 0 && expected - gaps.delivered > allowed;
}

// A gap may be as long as `limit_s`, or longer in a long window; together they are a small share.
bool exceeds(const SampleGaps& gaps, double window_s, double limit_s, double inside_over_limit_s) {
  const double longest_s =
      std::min(kLongestOfAnyWindowS, std::max(limit_s, kLongestShare * window_s));
  return gaps.longest_s > longest_s || inside_over_limit_s > kMostMissingShare * window_s;
}

bool exceeds_limit(const SampleGaps& gaps) { return gaps.longest_s > kPackageMaxSampleGapS; }

bool exceeds_budget(const SampleGaps& gaps, double window_s, const SamplingPace& pace) {
  return !std::isfinite(pace.budget_s()) ||
         exceeds(gaps, window_s, pace.budget_s(), gaps.inside_over_budget_s);
}

using Gaps = const SampleGaps&;
using Pace = const SamplingPace&;

constexpr GapRule kRules[] = {
    {"b", true,
     [](Gaps gaps, double, Pace pace) -> GapVerdict {
       return {exceeds_limit(gaps), lost_intervals(gaps, pace)};
     }},
    {"a", true,
     [](Gaps gaps, double, Pace) -> GapVerdict {
       return {exceeds_limit(gaps), false};
     }},
    {"c", false,
     [](Gaps gaps, double window_s, Pace pace) -> GapVerdict {
       return {exceeds_budget(gaps, window_s, pace) || lost_intervals(gaps, pace), false};
     }},
    {"c'", false,
     [](Gaps gaps, double window_s, Pace pace) -> GapVerdict {
       return {exceeds_budget(gaps, window_s, pace), lost_samples(gaps, window_s, pace)};
     }},
    {"e", false,
     [](Gaps gaps, double window_s, Pace) -> GapVerdict {
       return {gaps.longest_s > kLongestOfAnyWindowS ||
                   gaps.whole_over_limit_s > kLongestShare * window_s,
               false};
     }},
    {"a'", false,
     [](Gaps gaps, double window_s, Pace) -> GapVerdict {
       return {exceeds(gaps, window_s, kPackageMaxSampleGapS, gaps.inside_over_limit_s), false};
     }},
    {"c-early", false,
     [](Gaps gaps, double window_s, Pace pace) -> GapVerdict {
       return {exceeds_budget(gaps, window_s, pace), false};
     }},
    // Gaps are reported, not judged; the limit is ours: beyond it a report is about nothing.
    {"d", false,
     [](Gaps gaps, double window_s, Pace) -> GapVerdict {
       return {gaps.inside_over_limit_s > kMostBlindShare * window_s, false};
     }},
};

}  // namespace

void SampleGaps::add_long(double before_unix_s, double after_unix_s, const Window& window,
                          double budget_s) {
  const double gap_s = after_unix_s - before_unix_s;
  const double inside_s =
      std::min(after_unix_s, window.end_unix_s) - std::max(before_unix_s, window.start_unix_s);
  if (gap_s > kPackageMaxSampleGapS) {
    whole_over_limit_s += gap_s;
    inside_over_limit_s += inside_s;
  }
  if (gap_s > budget_s) inside_over_budget_s += inside_s;
}

std::span<const GapRule> gap_rules() { return kRules; }

const GapRule& consumer_gap_rule() { return kRules[1]; }

}  // namespace aggregate_power
