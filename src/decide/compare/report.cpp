// A comparison as a table: what its rows and lines say.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "decide/compare/compare_parts.h"
#include "decide/compare/compare_report.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

std::string compared_number(double value) { return fmt::format("{:.6g}", value); }

std::string compared_percent(double share) { return fmt::format("{:.6g} %", 100 * share); }

// With as many decimals as half the width of its interval has two digits for.
std::string signed_change(double share, double half_width) {
  constexpr int kMostDecimals = 6;
  if (std::abs(share) >= 1e6) return fmt::format("{:+.2e} %", 100 * share);
  const double digits = half_width > 0 ? std::ceil(1 - std::log10(100 * half_width)) : 2;
  const int decimals =
      static_cast<int>(std::clamp(digits, 1.0, static_cast<double>(kMostDecimals)));
  std::string text = fmt::format("{:+.{}f}", 100 * share, decimals);
  if (text.find_first_of("123456789") == std::string::npos) text[0] = '+';
  return text + " %";
}

std::string change_text(const RelativeChange& change) {
  return signed_change(change.change, (change.high - change.low) / 2);
}

std::string change_interval_text(const RelativeChange& change) {
  const double half_width = (change.high - change.low) / 2;
  return signed_change(change.low, half_width) + " to " + signed_change(change.high, half_width);
}

std::string side_mean_text(const ComparedSide& side) {
  return side.statistics ? compared_number(side.statistics->mean) : "-";
}

std::string compare_direction(const CompareRule& rule) {
  return rule.is_higher_better ? "more is better" : "less is better";
}

void add_shared_members(const RunComparisons& compared, TabularReport& report) {
  if (compared.rates.is_asked()) report.before.push_back(facility_note(compared.rates, "gpu"));
  if (compared.shared.empty()) return;
  report.before.push_back("all: " + one_line(configuration_text(compared.shared)));
}

std::string compare_count(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// One line for each distinct text, with the configurations that it is said of, unless it is of all.
void add_for_each_text(const RunComparisons& compared, std::string_view word,
                       const std::vector<std::pair<std::string, const RunComparison*>>& texts,
                       TabularReport& report) {
  std::vector<std::string> said;
  for (const auto& [text, ignored] : texts) {
    if (std::ranges::find(said, text) != said.end()) continue;
    said.push_back(text);
    std::vector<std::string> labels;
    for (const auto& [same, comparison] : texts) {
      if (same == text) labels.push_back(one_line(comparison->label));
    }
    const std::string which = labels.size() == compared.comparisons.size()
                                  ? std::string()
                                  : fmt::format("{}: ", fmt::join(labels, ", "));
    report.after.push_back(fmt::format("{}: {}{}", word, which, one_line(text)));
  }
}

void add_compare_notes(const RunComparisons& compared, TabularReport& report) {
  std::vector<std::pair<std::string, const RunComparison*>> notes;
  bool uses_estimates = false;
  for (const RunComparison& comparison : compared.comparisons) {
    for (const std::string& note : comparison.notes) notes.emplace_back(note, &comparison);
    uses_estimates = uses_estimates || comparison.uses_estimates;
  }
  add_for_each_text(compared, "note", notes, report);
  if (uses_estimates) {
    report.after.emplace_back(
        "note: where all runs state an interval, their estimates are compared, not the published numbers");
  }
}

void add_compare_excluded(const RunComparisons& compared, TabularReport& report) {
  for (const RunComparison& comparison : compared.comparisons) {
    for (const ExcludedRun& run : comparison.excluded) {
      const char* const side = run.is_new ? "new: " : "base: ";
      report.after.push_back(fmt::format("not used: {}{}: {}",
                                         compared.kind == CompareKind::two_sides ? side : "",
                                         one_line(run.file), one_line(run.reason)));
    }
  }
  if (!compared.without_power.empty()) {
    report.after.push_back(
        fmt::format("not used: {} without power, of configurations that have none",
                    compare_count(compared.without_power.size(), "result")));
  }
}

std::string side_spread_text(const std::optional<double>& spread, double mean) {
  return spread ? fmt::format("{:.2g} %", 100 * *spread / mean) : "-";
}

std::string caught_text(const GateTest& test) {
  return test.smallest_caught ? compared_percent(*test.smallest_caught) : "nothing";
}

}  // namespace

TabularReport comparison_report(const RunComparisons& compared) {
  TabularReport report;
  const OverallVerdict overall = overall_verdict(compared);
  report.heading =
      fmt::format("{}: {} (margin {}, {})", one_line(compared.rule.metric),
                  change_verdict_name(overall.verdict), compared_percent(compared.rule.margin),
                  compare_direction(compared.rule));
  add_shared_members(compared, report);
  report.columns = {{"configuration", true}, {"runs"},   {"base"}, {"new"}, {"change"},
                    {"95 % interval"},       {"verdict"}};
  std::vector<std::pair<std::string, const RunComparison*>> lacks;
  for (const RunComparison& one : compared.comparisons) {
    report.rows.push_back({one_line(one.label),
                           fmt::format("{}+{}", one.base.files.size(), one.next.files.size()),
                           side_mean_text(one.base), side_mean_text(one.next),
                           one.change ? change_text(*one.change) : "-",
                           one.change ? change_interval_text(*one.change) : "-",
                           std::string(change_verdict_name(one.verdict))});
    if (!one.lack.empty()) lacks.emplace_back(one.lack, &one);
  }
  add_for_each_text(compared, "insufficient", lacks, report);
  add_compare_notes(compared, report);
  add_compare_excluded(compared, report);
  return report;
}

TabularReport summary_report(const RunComparisons& compared) {
  TabularReport report;
  report.heading = fmt::format("{}: {}", one_line(compared.rule.metric),
                               compare_count(compared.comparisons.size(), "configuration"));
  add_shared_members(compared, report);
  report.columns = {{"configuration", true}, {"runs"}, {"mean"}, {"median"}, {"st.dev."}, {"range"},
                    {"95 % interval"}};
  for (const RunComparison& one : compared.comparisons) {
    const RepeatStatistics statistics = one.base.statistics.value_or(RepeatStatistics());
    const bool is_there = one.base.statistics.has_value();
    const bool has_spread = statistics.standard_deviation.has_value();
    const double range = statistics.largest - statistics.smallest;
    report.rows.push_back(
        {one_line(one.label), std::to_string(one.base.files.size()), side_mean_text(one.base),
         is_there ? compared_number(statistics.median) : "-",
         side_spread_text(statistics.standard_deviation, statistics.mean),
         side_spread_text(has_spread ? std::optional(range) : std::nullopt, statistics.mean),
         statistics.low
             ? compared_number(*statistics.low) + " to " + compared_number(*statistics.high)
             : "-"});
  }
  add_compare_notes(compared, report);
  add_compare_excluded(compared, report);
  return report;
}

TabularReport gate_test_report(const RunComparisons& compared, const std::vector<GateTest>& tests) {
  TabularReport report;
  report.heading =
      fmt::format("{}: the gate {} (margin {}, {})", one_line(compared.rule.metric),
                  gate_can_fail(tests) ? "can fail" : "cannot fail everywhere",
                  compared_percent(compared.rule.margin), compare_direction(compared.rule));
  report.before.emplace_back(compared.kind == CompareKind::mirrored
                                 ? "the base, compared with itself made worse in memory:"
                                 : "the base, compared with the new side made worse in memory:");
  add_shared_members(compared, report);
  report.columns = {{"configuration", true}, {"worse by"}, {"95 % interval"}, {"verdict"}};
  for (const GateTest& test : tests) {
    for (const GateTrial& trial : test.trials) {
      const bool is_first = &trial == &test.trials.front();
      report.rows.push_back({is_first ? one_line(test.comparison->label) : "",
                             compared_percent(trial.amount),
                             trial.change ? change_interval_text(*trial.change) : "-",
                             std::string(change_verdict_name(trial.verdict))});
    }
  }
  for (const GateTest& test : tests) {
    const std::string label = one_line(test.comparison->label);
    report.after.push_back(fmt::format("caught from: {}: {}", label, caught_text(test)));
    if (!test.smallest_caught) {
      report.after.push_back(
          fmt::format("what to do: {}: repeat each side at least three times, measure single runs "
                      "with --uncertainty, or lower --margin",
                      label));
    }
  }
  add_compare_notes(compared, report);
  add_compare_excluded(compared, report);
  return report;
}

std::string comparison_text(const RunComparisons& compared, CompareFormat format) {
  const bool is_summary = compared.kind == CompareKind::base_alone;
  if (format == CompareFormat::json) {
    return is_summary ? summary_json(compared) : comparison_json(compared);
  }
  const TabularReport report = is_summary ? summary_report(compared) : comparison_report(compared);
  return format == CompareFormat::markdown ? as_markdown(report) : as_plain_table(report);
}

std::string gate_test_text(const RunComparisons& compared, CompareFormat format) {
  const std::vector<GateTest> tests = test_gate(compared);
  if (format == CompareFormat::json) return gate_test_json(compared, tests);
  const TabularReport report = gate_test_report(compared, tests);
  return format == CompareFormat::markdown ? as_markdown(report) : as_plain_table(report);
}

}  // namespace aggregate_power
