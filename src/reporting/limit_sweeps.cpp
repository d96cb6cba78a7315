// Joins what was measured at each limit with the choice among the limits.
#include "reporting/report_parts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "decisions/compared_configurations.h"
#include "decisions/run_sweep.h"

namespace aggregate_power {
namespace {

std::optional<LimitValue> limit_value(const std::optional<RepeatStatistics>& statistics) {
  if (!statistics) return std::nullopt;
  LimitValue value{statistics->mean};
  if (statistics->low && statistics->high) {
    value.interval = ErrorBar{*statistics->low, *statistics->high};
  }
  return value;
}

std::optional<LimitValue> limit_value(const std::optional<double>& mean) {
  return mean ? std::optional(LimitValue{*mean}) : std::nullopt;
}

LimitPoint limit_point(const ReportPoint& point, double limit_w) {
  return {.limit_w = limit_w,
          .n = point.runs.size(),
          .throughput = limit_value(point[ReportQuantity::throughput]),
          .temperature = limit_value(point[ReportQuantity::temperature]),
          .utilization = limit_value(point[ReportQuantity::utilization]),
          .time = limit_value(point[ReportQuantity::duration]),
          .energy = limit_value(point[ReportQuantity::energy_per_token])};
}

// ---- What is recommended

std::string verdict_text(const LimitChoice& choice) {
  if (!choice.recommended_limit_w) return "No recommendation: " + choice.why_not + ".";
  const bool is_per_token = choice.objective == LimitObjective::energy_per_token;
  std::string text = fmt::format("Recommended by {}: {:g} W",
                                 is_per_token ? "energy per token" : name(choice.objective),
                                 *choice.recommended_limit_w);
  if (choice.runner_up_w) {
    text += fmt::format("; then {:g} W, {:.2f} % more", *choice.runner_up_w,
                        100 * choice.margin.value_or(0));
    const auto& margin = choice.margin_interval;
    if (margin && margin->low < margin->high) {
      text += fmt::format(" ({:.2f} to {:.2f} %)", 100 * margin->low, 100 * margin->high);
    }
  }
  if (!choice.ties_w.empty()) {
    std::vector<std::string> ties;
    for (const double limit_w : choice.ties_w) ties.push_back(fmt::format("{:g} W", limit_w));
    text += fmt::format(". A tie: {} cannot be told from it", fmt::join(ties, ", "));
  } else if (choice.interval_from.empty() && choice.runner_up_w) {
    text += fmt::format(". {}, so nothing says whether the difference is real",
                        choice.are_repeats_equal ? "Repeats are equal in every digit"
                                                 : "Each limit was measured once");
  }
  return text + ".";
}

std::string state_note(const JudgedLimit& judged) {
  if (judged.group.state == LimitState::ok) return {};
  return fmt::format("{}: {}", name(judged.group.state), judged.group.why);
}

void take_choice(const LimitChoice& choice, LimitSweep& sweep) {
  sweep.verdict = verdict_text(choice);
  sweep.margin = choice.margin;
  for (LimitPoint& point : sweep.points) {
    const auto judged = std::ranges::find_if(choice.groups, [&](const JudgedLimit& each) {
      return is_same_limit(each.group.limit_w, point.limit_w);
    });
    if (judged == choice.groups.end()) continue;
    point.note = state_note(*judged);
    if (choice.recommended_limit_w == judged->group.limit_w) sweep.recommended_w = point.limit_w;
    if (choice.runner_up_w == judged->group.limit_w) sweep.runner_up_w = point.limit_w;
  }
}

// ---- Runs

Configuration without_limit(const Configuration& configuration) {
  Configuration rest;
  std::ranges::copy_if(configuration, std::back_inserter(rest),
                       [](const auto& member) { return member.first != kLimitKey; });
  return rest;
}

using Scenarios = std::map<Configuration, std::vector<std::size_t>, ConfigurationLess>;

// The points of each configuration with two limits or more.
Scenarios scenarios_of(const ReportRuns& report) {
  Scenarios scenarios;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const ReportPoint& point = report.points[i];
    if (!report.runs[point.runs[0]].limit_w) continue;
    scenarios[without_limit(point.configuration)].push_back(i);
  }
  std::erase_if(scenarios, [](const auto& scenario) { return scenario.second.size() < 2; });
  return scenarios;
}

std::vector<LimitChoice> choices_of_runs(const ReportRuns& report, const Scenarios& scenarios,
                                         const LimitSweepRequest& request) {
  std::vector<PublishedRun> runs;
  for (const auto& [configuration, points] : scenarios) {
    for (const std::size_t point : points) {
      for (const std::size_t i : report.points[point].runs) runs.push_back(report.runs[i].run);
    }
  }
  RunSweepRequest wanted{request.keys, request.limit_key, request.most_threads};
  std::erase(wanted.keys, kLimitKey);  // each limit would be a scenario
  RunSweep swept = sweep_of_runs(runs, wanted);
  std::vector<LimitChoice> choices;
  for (LimitScenario& scenario : swept.scenarios) {
    choices.push_back(choose_limit(std::move(scenario), {}));
  }
  return choices;
}

// ---- Tables

// The mean of a column over the rows at a limit.
std::optional<double> column_mean(const SweepRows& rows, double limit_w, std::string_view column) {
  double sum = 0;
  std::size_t count = 0;
  for (const SweepRow& row : rows.rows) {
    if (!row.columns || !is_same_limit(row.limit_w, limit_w)) continue;
    const auto found = std::ranges::find(*row.columns, column);
    if (found == row.columns->end()) continue;
    const auto index = static_cast<std::size_t>(found - row.columns->begin());
    const double value = index < row.cells.size() ? sweep_number(row.cells[index]) : kNoNumber;
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

LimitPoint limit_point_of_table(const LimitChoice& choice, const JudgedLimit& judged,
                                const SweepRows* rows) {
  LimitPoint point{.limit_w = judged.group.limit_w, .n = judged.group.n};
  if (judged.tokens && judged.time_s && *judged.time_s > 0) {
    point.throughput = LimitValue{*judged.tokens / *judged.time_s};
  }
  point.time = limit_value(judged.time_s);
  point.energy = limit_value(choice.has_tokens ? judged.joules_per_token : judged.energy_j);
  if (point.energy && judged.interval && judged.value == point.energy->mean) {
    point.energy->interval = ErrorBar{judged.interval->low, judged.interval->high};
  }
  if (rows == nullptr) return point;
  point.temperature = limit_value(column_mean(*rows, point.limit_w, "temperature"));
  point.utilization = limit_value(column_mean(*rows, point.limit_w, "gpu_utilization"));
  return point;
}

const SweepRows* rows_of(const Recommendation& recommendation, const LimitChoice& choice) {
  if (!choice.is_of_rows) return nullptr;
  const auto found = std::ranges::find(recommendation.rows, choice.scenario, &SweepRows::scenario);
  return found == recommendation.rows.end() ? nullptr : &*found;
}

}  // namespace

std::vector<LimitSweep> sweeps_of_runs(const ReportRuns& report, const LimitSweepRequest& request) {
  const Scenarios scenarios = scenarios_of(report);
  if (scenarios.empty()) return {};
  const std::vector<LimitChoice> choices = choices_of_runs(report, scenarios, request);
  const QuantityFacts energy = facts_of(ReportQuantity::energy_per_token, *report.metric);
  std::vector<LimitSweep> sweeps;
  for (const auto& [configuration, points] : scenarios) {
    LimitSweep sweep{.name = configuration_text(configuration),
                     .hardware = report.points[points[0]].hardware,
                     .energy_title = energy.title,
                     .energy_formula = energy.formula,
                     .boundary = report.boundary};
    for (const std::size_t i : points) {
      const ReportPoint& point = report.points[i];
      sweep.points.push_back(limit_point(point, *report.runs[point.runs[0]].limit_w));
    }
    std::ranges::sort(sweep.points, {}, &LimitPoint::limit_w);
    const auto choice = std::ranges::find(choices, sweep.name, &LimitChoice::scenario);
    if (choice != choices.end()) take_choice(*choice, sweep);
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

std::vector<LimitSweep> sweeps_of_tables(const Recommendation& recommendation) {
  std::vector<LimitSweep> sweeps;
  for (const LimitChoice& choice : recommendation.choices) {
    const SweepRows* const rows = rows_of(recommendation, choice);
    LimitSweep sweep{.name = choice.scenario,
                     .n_is = choice.is_of_rows ? "rows" : "epochs",
                     .time_title = choice.is_of_rows ? "time (s)" : "time of an epoch (s)",
                     .energy_title = choice.has_tokens ? "energy (J/token)" : "energy (J)",
                     .energy_formula = choice.has_tokens ? "energy / tokens" : "time * mean power",
                     .throughput_title = "throughput (tokens/s)"};
    for (const JudgedLimit& judged : choice.groups) {
      sweep.points.push_back(limit_point_of_table(choice, judged, rows));
    }
    take_choice(choice, sweep);
    if (!sweep.points.empty()) sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

}  // namespace aggregate_power
