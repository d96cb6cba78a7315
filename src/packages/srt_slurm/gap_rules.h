// How long the samples of a GPU may be missing: one rule for each version of the recorder or of its
// reader. A new rule is one row in gap_rules.cpp. Contract-october.md 2.11.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// No two samples of a GPU may be further apart, unless a rule says otherwise.
inline constexpr double kPackageMaxSampleGapS = 3.0;

// What the manifest says about the recorder's pace.
struct SamplingPace {
  double interval_s = 0;
  double timeout_s = 0;
  // The longest gap that one lost request can leave.
  double budget_s() const { return interval_s + 2 * timeout_s; }
};

// The gaps between the samples of one GPU around one window: from the last sample at or before its
// start to the first at or after its end. "Inside" is the part of a gap inside the window.
class SampleGaps {
 public:
  // Takes the next two neighbours; at least one instant between them is inside the window.
  void add(double before_unix_s, double after_unix_s, const Window& window, double budget_s) {
    const double gap_s = after_unix_s - before_unix_s;
    if (steps == 0) first_unix_s = before_unix_s;
    last_unix_s = after_unix_s;
    if (gap_s > 0) ++steps;
    if (before_unix_s >= window.start_unix_s && gap_s > 0) ++delivered;
    longest_s = std::max(longest_s, gap_s);
    if (gap_s > kPackageMaxSampleGapS || gap_s > budget_s) {
      add_long(before_unix_s, after_unix_s, window, budget_s);
    }
  }

  double longest_s = 0;
  double first_unix_s = 0;
  double last_unix_s = 0;
  double whole_over_limit_s = 0;    // sum of the gaps above kPackageMaxSampleGapS
  double inside_over_limit_s = 0;   // their sum inside the window
  double inside_over_budget_s = 0;  // sum inside the window of the gaps above the budget
  std::uint32_t steps = 0;          // between different stamps
  std::uint32_t delivered = 0;      // different stamps in [start, end)

 private:
  void add_long(double before_unix_s, double after_unix_s, const Window& window, double budget_s);
};

// What a rule finds.
struct GapVerdict {
  bool has_long_gap = false;      // sample_gap_exceeded
  bool has_lost_samples = false;  // sample_loss_exceeded
};

struct GapRule {
  std::string_view name;  // in the audit record: "a"
  bool is_flat;           // no gap above kPackageMaxSampleGapS, however long the window is
  GapVerdict (*judge)(const SampleGaps& gaps, double window_s, const SamplingPace& pace);
};

// In the order in which they are tried: roughly from the strictest to the most tolerant.
std::span<const GapRule> gap_rules();

// The rule of the original's own reader: no gap above kPackageMaxSampleGapS.
const GapRule& consumer_gap_rule();

}  // namespace aggregate_power
