// A comparison as a table: what its rows and lines say.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "base/text/wrap.h"
#include "core/record/edits.h"
#include "decide/compare/compare.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

// A report as people read it: a table with lines before and after it.
struct ReportColumn {
  std::string title;
  bool is_name = false;  // as found in a file; else a number or a word of ours
};

struct TabularReport {
  std::string heading;
  std::vector<std::string> before;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> after;
};

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

void add_missed_shares(const RunComparisons& compared, TabularReport& report) {
  std::vector<std::pair<std::string, const RunComparison*>> texts;
  for (const RunComparison& one : compared.comparisons) {
    for (const ComparedSide* const side : {&one.base, &one.next}) {
      if (!side->missed_share) continue;
      const char* const name = compared.kind != CompareKind::two_sides ? ""
                               : side == &one.base                     ? "base: "
                                                                       : "new: ";
      texts.emplace_back(name + compare::missed_share_text(*side->missed_share), &one);
    }
  }
  add_for_each_text(compared, "objective", texts, report);
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
                    counted(compared.without_power.size(), "result")));
  }
}

std::string side_spread_text(const std::optional<double>& spread, double mean) {
  return spread ? fmt::format("{:.2g} %", 100 * *spread / mean) : "-";
}

std::string caught_text(const GateTest& test) {
  return test.smallest_caught ? compared_percent(*test.smallest_caught) : "nothing";
}

std::string level_title(const CompareRule& rule) {
  // An early look may err rarely: two digits of how often.
  if (rule.alpha < 1e-9) return "over 99.9999999 % interval";
  const int decimals = static_cast<int>(std::ceil(1 - std::log10(100 * rule.alpha)));
  return fmt::format("{:.{}g} % interval", 100 * (1 - rule.alpha), std::max(4, 2 + decimals));
}

TabularReport comparison_report(const RunComparisons& compared) {
  TabularReport report;
  const OverallVerdict overall = overall_verdict(compared);
  report.heading =
      fmt::format("{}: {} (margin {}, {})", one_line(compared.rule.metric),
                  change_verdict_name(overall.verdict), compared_percent(compared.rule.margin),
                  compare_direction(compared.rule));
  add_shared_members(compared, report);
  report.columns = {{"configuration", true},      {"runs"},   {"base"}, {"new"}, {"change"},
                    {level_title(compared.rule)}, {"verdict"}};
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
  add_missed_shares(compared, report);
  add_compare_notes(compared, report);
  add_compare_excluded(compared, report);
  return report;
}

// "conc=256 uses 68.6 % less than conc=16 (68.0 % to 69.1 %)"
std::string to_best_text(const RunComparisons& compared, const ChangeToBest& one) {
  const bool is_more = compared.rule.is_higher_better;
  const auto& change = one.comparison.change;
  const double half_width = change ? (change->high - change->low) / 2 : 0;
  const bool is_certain = change && (is_more ? change->low > 0 : change->high < 0);
  const auto share_text = [&](double share) {
    const std::string text = signed_change(is_more ? share : -share, half_width);
    return is_certain || !change ? text.substr(1) : text;
  };
  const double ratio =
      one.comparison.next.statistics->mean / one.comparison.base.statistics->mean - 1;
  const std::string text =
      fmt::format("{} {} {} {} than {}", one_line(compared.comparisons[one.best].label),
                  is_our_key(compared.rule.metric) && !is_more ? "uses" : "has",
                  share_text(change ? change->change : ratio), is_more ? "more" : "less",
                  one_line(compared.comparisons[one.other].label));
  if (!change) {
    return text + "; without repeats or stated intervals nothing says whether that is real";
  }
  return fmt::format("{} ({} to {}){}", text, share_text(is_more ? change->low : change->high),
                     share_text(is_more ? change->high : change->low),
                     is_certain ? "" : ", which may be chance");
}

TabularReport summary_report(const RunComparisons& compared) {
  TabularReport report;
  report.heading = fmt::format("{}: {}", one_line(compared.rule.metric),
                               counted(compared.comparisons.size(), "configuration"));
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
  add_missed_shares(compared, report);
  add_compare_notes(compared, report);
  add_compare_excluded(compared, report);
  for (const ChangeToBest& one : compared.to_best) {
    report.after.push_back(to_best_text(compared, one));
  }
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
  report.columns = {
      {"configuration", true}, {"worse by"}, {level_title(compared.rule)}, {"verdict"}};
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

// ---- A comparison as JSON.

Json compare_head(const RunComparisons& compared) {
  Json json = {{"schema", "aggregate-power/compare-2"},
               {"metric", compared.rule.metric},
               {"higher_is_better", compared.rule.is_higher_better},
               {"level", 1 - compared.rule.alpha}};
  if (compared.rates.is_asked()) json["facility"] = facility_terms_json(compared.rates, "gpu");
  if (compared.kind != CompareKind::base_alone) json["margin"] = compared.rule.margin;
  return json;
}

Json compare_configuration_json(const Configuration& configuration) {
  Json json = Json::object();
  for (const auto& [key, value] : configuration) json[one_line(key)] = one_line(value);
  return json;
}

Json compare_texts_json(const std::vector<std::string>& texts) { return list_of(texts, one_line); }

Json compared_side_json(const ComparedSide& side) {
  const RepeatStatistics statistics = side.statistics.value_or(RepeatStatistics());
  const bool is_there = side.statistics.has_value();
  const auto number = [&](double value) { return is_there ? Json(value) : Json(); };
  Json json = {{"n", side.files.size()},
               {"mean", number(statistics.mean)},
               {"median", number(statistics.median)},
               {"standard_deviation", number_or_null(statistics.standard_deviation)},
               {"low", number_or_null(statistics.low)},
               {"high", number_or_null(statistics.high)},
               {"smallest", number(statistics.smallest)},
               {"largest", number(statistics.largest)},
               {"files", compare_texts_json(side.files)}};
  if (const auto& share = side.missed_share) {
    json[compare::kMissedShare] = {{"value", share->value},
                                   {"low", number_or_null(share->low)},
                                   {"high", number_or_null(share->high)}};
  }
  return json;
}

Json compare_excluded_json(const std::vector<ExcludedRun>& excluded) {
  return list_of(excluded, [](const ExcludedRun& run) -> Json {
    return {{"file", one_line(run.file)},
            {"side", run.is_new ? "new" : "base"},
            {"reason", one_line(run.reason)}};
  });
}

// null: there is no change.
void add_change_json(Json& json, const std::optional<RelativeChange>& change) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const RelativeChange shown = change.value_or(RelativeChange{kNone, kNone, kNone});
  json["change"] = number_or_null(shown.change);
  json["change_low"] = number_or_null(shown.low);
  json["change_high"] = number_or_null(shown.high);
}

void add_run_counts(Json& json, const RunComparison& comparison) {
  json["n_base"] = comparison.base.files.size();
  json["n_new"] = comparison.next.files.size();
}

void add_compared_configuration(Json& json, const RunComparison& comparison) {
  json["configuration"] = one_line(configuration_text(comparison.configuration));
  json["members"] = compare_configuration_json(comparison.configuration);
}

const char* compared_values_name(const RunComparison& comparison) {
  return comparison.uses_estimates ? "estimate" : "published";
}

Json one_comparison_json(const RunComparison& comparison, const CompareRule& rule) {
  Json json;
  add_compared_configuration(json, comparison);
  json["metric"] = rule.metric;
  json["verdict"] = change_verdict_name(comparison.verdict);
  json["lack"] = text_or_null(one_line(comparison.lack));
  json["base"] = compared_side_json(comparison.base);
  json["new"] = compared_side_json(comparison.next);
  add_change_json(json, comparison.change);
  add_run_counts(json, comparison);
  const auto& change = comparison.change;
  json["method"] = change ? Json(change_method_name(change->method)) : Json();
  // JSON has no infinity: null where all uncertainties are stated.
  json["degrees_of_freedom"] =
      number_or_null(change ? std::optional(change->degrees_of_freedom) : std::nullopt);
  json["values"] = compared_values_name(comparison);
  json["boards"] = boards_name(comparison.boards);
  json["sensor_accuracy"] = comparison.accuracy;
  json["notes"] = compare_texts_json(comparison.notes);
  json["excluded"] = compare_excluded_json(comparison.excluded);
  return json;
}

std::string compare_text_of(Json json, const RunComparisons& compared) {
  json["without_power"] = compare_excluded_json(compared.without_power);
  json["warnings"] = compare_texts_json(compared.warnings);
  return indented_lines(json);
}

std::string comparison_json(const RunComparisons& compared) {
  Json json = compare_head(compared);
  const OverallVerdict overall = overall_verdict(compared);
  json["verdict"] = change_verdict_name(overall.verdict);
  add_change_json(json, overall.decided_by == nullptr ? std::nullopt : overall.decided_by->change);
  add_run_counts(json, overall.decided_by == nullptr ? RunComparison() : *overall.decided_by);
  json["decided_by"] = overall.decided_by == nullptr
                           ? Json()
                           : Json(one_line(configuration_text(overall.decided_by->configuration)));
  json["comparisons"] = list_of(compared.comparisons, [&](const RunComparison& comparison) {
    return one_comparison_json(comparison, compared.rule);
  });
  return compare_text_of(std::move(json), compared);
}

std::string summary_json(const RunComparisons& compared) {
  Json json = compare_head(compared);
  json["summaries"] = list_of(compared.comparisons, [&](const RunComparison& comparison) {
    Json summary;
    add_compared_configuration(summary, comparison);
    summary["metric"] = compared.rule.metric;
    const auto& statistics = comparison.base.statistics;
    summary.update(compared_side_json(comparison.base));
    std::optional<double> deviation;
    std::optional<double> range;
    if (statistics && statistics->standard_deviation) {
      deviation = *statistics->standard_deviation / statistics->mean;
      range = (statistics->largest - statistics->smallest) / statistics->mean;
    }
    summary["relative_standard_deviation"] = number_or_null(deviation);
    summary["relative_range"] = number_or_null(range);
    summary["values"] = compared_values_name(comparison);
    summary["notes"] = compare_texts_json(comparison.notes);
    summary["excluded"] = compare_excluded_json(comparison.excluded);
    return summary;
  });
  json["to_best"] = list_of(compared.to_best, [&](const ChangeToBest& one) {
    const auto name = [&](std::size_t place) {
      return one_line(configuration_text(compared.comparisons[place].configuration));
    };
    Json row = {{"best", name(one.best)}, {"other", name(one.other)}};
    add_change_json(row, one.comparison.change);
    row["boards"] = boards_name(one.comparison.boards);
    return row;
  });
  return compare_text_of(std::move(json), compared);
}

std::string gate_test_json(const RunComparisons& compared, const std::vector<GateTest>& tests) {
  Json json = compare_head(compared);
  json["can_fail"] = gate_can_fail(tests);
  json["self_test"] = list_of(tests, [&](const GateTest& test) {
    Json one;
    add_compared_configuration(one, *test.comparison);
    add_run_counts(one, *test.comparison);
    one["boards"] = boards_name(test.comparison->boards);
    one["smallest_caught"] = number_or_null(test.smallest_caught);
    one["amounts"] = list_of(test.trials, [](const GateTrial& trial) {
      Json row = {{"amount", trial.amount}, {"verdict", change_verdict_name(trial.verdict)}};
      add_change_json(row, trial.change);
      return row;
    });
    one["excluded"] = compare_excluded_json(test.comparison->excluded);
    return one;
  });
  return compare_text_of(std::move(json), compared);
}

// ---- A table with lines before and after it, for a terminal or as Markdown.

constexpr std::size_t kReportColumns = 100;

// The last column is a word, and the first one too: numbers end where their column does.
TextTable report_table(const TabularReport& report) {
  std::string layout;
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    const std::string& title = report.columns[i].title;
    std::size_t width = columns(title);
    for (const auto& row : report.rows) width = std::max(width, columns(row[i]));
    const bool is_last = i + 1 == report.columns.size();
    layout += i == 0    ? fmt::format("[{} <{}]", title, width)
              : is_last ? fmt::format("  [{} <]", title)
                        : fmt::format("  [{} >{}]", title, width);
  }
  return TextTable(layout);
}

// In front of what Markdown would take for more than text.
std::string markdown_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>#|~&@").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// A name in a cell: within backticks only a bar and another backtick mean something.
std::string markdown_name(const std::string& name) {
  if (name.empty()) return name;
  std::string quoted = "`";
  for (const char c : name) {
    if (c == '|') quoted += '\\';
    quoted += c == '`' ? '\'' : c;
  }
  return quoted + '`';
}

// The only configuration has a line of its own above the table if its name is long.
TabularReport with_only_name_above(TabularReport report) {
  constexpr std::size_t kMostColumns = 40;
  const auto named = std::ranges::count_if(
      report.rows, [](const std::vector<std::string>& row) { return !row[0].empty(); });
  if (named != 1 || columns(report.rows[0][0]) <= kMostColumns) return report;
  report.before.push_back("all: " + std::exchange(report.rows[0][0], "all"));
  return report;
}

std::string as_plain_table(const TabularReport& given) {
  const TabularReport report = with_only_name_above(given);
  const TextTable table = report_table(report);
  std::string text = report.heading + '\n';
  for (const std::string& line : report.before) text += wrapped(line, "", 2, kReportColumns);
  text += '\n' + table.head();
  for (const auto& row : report.rows)
    table.add(std::vector<TextCell>(row.begin(), row.end()), text);
  if (!report.after.empty()) text += '\n';
  for (const std::string& line : report.after) text += wrapped(line, "", 2, kReportColumns);
  return text;
}

std::string as_markdown(const TabularReport& report) {
  std::string text = fmt::format("**{}**\n", markdown_text(report.heading));
  for (const std::string& line : report.before) text += fmt::format("\n{}\n", markdown_text(line));
  std::string titles = "\n|";
  std::string rule = "|";
  for (const ReportColumn& column : report.columns) {
    titles += fmt::format(" {} |", column.title);
    rule += column.is_name || &column == &report.columns.back() ? " --- |" : " ---: |";
  }
  text += titles + '\n' + rule + '\n';
  for (const auto& row : report.rows) {
    text += '|';
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format(
          " {} |", report.columns[i].is_name ? markdown_name(row[i]) : markdown_text(row[i]));
    }
    text += '\n';
  }
  if (!report.after.empty()) text += '\n';
  for (const std::string& line : report.after) text += fmt::format("* {}\n", markdown_text(line));
  return text;
}

}  // namespace

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

// ---- Degrades runs in memory, and compares them.

namespace {

constexpr double kAmounts[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1};

GateTrial gate_trial(const RunComparison& comparison, const CompareRule& rule, double amount) {
  RunComparison degraded = comparison;
  const double factor = rule.is_higher_better ? 1 - amount : 1 + amount;
  for (MeasuredValue& measured : degraded.next.repeats.values) measured.value *= factor;
  judge_change(degraded, rule);
  return {amount, degraded.verdict, degraded.change};
}

}  // namespace

std::vector<GateTest> test_gate(const RunComparisons& compared) {
  std::vector<GateTest> tests;
  for (const RunComparison& comparison : compared.comparisons) {
    GateTest test{.comparison = &comparison};
    for (const double amount : kAmounts) {
      test.trials.push_back(gate_trial(comparison, compared.rule, amount));
      const bool is_caught = test.trials.back().verdict == ChangeVerdict::worse;
      if (!is_caught) {
        test.smallest_caught.reset();
      } else if (!test.smallest_caught) {
        test.smallest_caught = amount;
      }
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

bool gate_can_fail(const std::vector<GateTest>& tests) {
  return !tests.empty() && std::ranges::all_of(tests, [](const GateTest& test) {
    return test.smallest_caught.has_value();
  });
}

}  // namespace aggregate_power
