// Five small charts that share their x axis, with a curve through the means.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chart/curve.h"
#include "decide/compare/compare.h"
#include "decide/recommend/run_limits.h"
#include "decide/recommend/sweep.h"
#include "views/page/page.h"

namespace aggregate_power {
namespace {

constexpr double kChartWidth = 380;
constexpr double kChartHeight = 190;
constexpr std::size_t kCurveSteps = 16;

struct LimitChartRow {
  std::string heading;  // of the chart
  std::string axis;
  std::string formula;
  std::optional<PointValue> LimitPoint::*value;
  double most = std::numeric_limits<double>::infinity();  // that its axis shows
};

std::vector<LimitChartRow> chart_rows(const LimitSweep& sweep) {
  return {{"Throughput", sweep.throughput_title, "work / time", &LimitPoint::throughput},
          {"Temperature", "temperature (\u00B0C)", "mean of the GPUs in the window",
           &LimitPoint::temperature},
          {"Utilization", "utilization (%)", "mean of the GPUs in the window",
           &LimitPoint::utilization, 100},
          {"Time", sweep.time_title, "length of the window", &LimitPoint::time},
          {"Energy", sweep.energy_title, sweep.energy_formula, &LimitPoint::energy}};
}

bool is_recommended(const LimitSweep& sweep, const LimitPoint& point) {
  return sweep.recommended_w && *sweep.recommended_w == point.limit_w;
}

std::string mark_of(const LimitSweep& sweep, const LimitPoint& point) {
  if (is_recommended(sweep, point)) return "recommended";
  if (sweep.runner_up_w && *sweep.runner_up_w == point.limit_w) return "runner-up";
  return point.note;
}

Dot limit_dot(const LimitSweep& sweep, const LimitPoint& point, const LimitChartRow& row) {
  const PointValue& value = *(point.*row.value);
  Dot dot{.at = {point.limit_w, value.mean}, .y_error = value.interval};
  dot.is_marked = is_recommended(sweep, point);
  if (dot.is_marked) dot.label = fmt::format("{:g} {}", point.limit_w, sweep.unit());
  const std::string mark = mark_of(sweep, point);
  dot.tooltip = fmt::format("{:g} {}: {} {}, n = {}{}{}", point.limit_w, sweep.unit(),
                            shown_value(value), row.axis, point.n, mark.empty() ? "" : ", ", mark);
  return dot;
}

// The curve goes through the limits that can be chosen, and is broken where the quantity is
// missing. The others are dots in the colour of the text: they may not be what their limit does.
std::vector<Series> limit_series(const LimitSweep& sweep, const LimitChartRow& row) {
  Series chosen{.style = sweep.hardware};
  Series others{.is_ink = true};
  std::vector<Point> stretch;
  const auto end_stretch = [&] {
    if (stretch.size() > 1) chosen.lines.push_back(monotone_curve(stretch, kCurveSteps));
    stretch.clear();
  };
  for (const LimitPoint& point : sweep.points) {
    if (!(point.*row.value)) {
      end_stretch();
      continue;
    }
    Series& series = point.note.empty() ? chosen : others;
    series.dots.push_back(limit_dot(sweep, point, row));
    if (point.note.empty()) stretch.push_back(series.dots.back().at);
  }
  end_stretch();
  return {std::move(chosen), std::move(others)};
}

bool has_others(const LimitSweep& sweep) {
  return std::ranges::any_of(sweep.points,
                             [](const LimitPoint& point) { return !point.note.empty(); });
}

// Around all values, and not from 0: what matters is the difference between the limits.
Axis close_axis(std::string title, const std::vector<double>& values,
                double most = std::numeric_limits<double>::infinity()) {
  const auto [low, high] = std::ranges::minmax(values);
  constexpr double kMargin = 0.08;
  const double margin = high > low ? (high - low) * kMargin : std::abs(high) * kMargin;
  const double end = low < most ? std::min(high + margin, most) : high + margin;
  return linear_axis(std::move(title), low - margin, end, 5);
}

Chart limit_chart(const LimitSweep& sweep, const LimitChartRow& row, std::string_view source) {
  Chart chart;
  chart.title = fmt::format("{} against {}", row.heading, sweep.is_of_clocks ? "clock" : "limit");
  chart.width = kChartWidth;
  chart.description = fmt::format("{} at each {} of {}", row.axis,
                                  sweep.is_of_clocks ? "clock" : "power limit", sweep.name);
  std::vector<double> limits;
  std::vector<double> values;
  for (const LimitPoint& point : sweep.points) {
    limits.push_back(point.limit_w);
    const auto& value = point.*row.value;
    if (!value) continue;
    values.push_back(value->mean);
    if (value->interval) values.insert(values.end(), {value->interval->low, value->interval->high});
  }
  chart.x = close_axis(
      sweep.is_of_clocks ? "graphics clock of a GPU (MHz)" : "power limit of a GPU (W)", limits);
  chart.panels.push_back({.y = close_axis(row.axis, values, row.most),
                          .series = limit_series(sweep, row),
                          .height = kChartHeight});
  chart.caption = {
      cut_text(sweep.name, 90),
      fmt::format(
          "{}: {}; {} as reported. Points: means of n {}, bars 95 %. The curve is a monotone cubic.{}{}",
          row.heading, row.formula, sweep.boundary, sweep.n_is,
          sweep.recommended_w ? " Ring: recommended." : "",
          has_others(sweep) ? " In the colour of text: cannot be chosen, see the table." : ""),
      fmt::format("Source: {}.", source)};
  return chart;
}

// A window of a fixed length differs by what its last requests took.
bool changes_with_limit(const LimitSweep& sweep, const LimitChartRow& row) {
  constexpr double kSame = 0.01;
  std::vector<double> means;
  for (const LimitPoint& point : sweep.points) {
    if (point.*row.value) means.push_back((point.*row.value)->mean);
  }
  const auto [low, high] = std::ranges::minmax(means);
  return high - low > kSame * high;
}

FigureTable limit_table(const LimitSweep& sweep, const std::vector<LimitChartRow>& rows) {
  FigureTable table{.titles = {sweep.is_of_clocks ? "clock (MHz)" : "limit (W)", "n"}};
  for (const LimitChartRow& row : rows) table.titles.push_back(row.axis);
  table.titles.emplace_back("mark");
  for (const LimitPoint& point : sweep.points) {
    std::vector<std::string> cells = {fmt::format("{:g}", point.limit_w),
                                      fmt::format("{}", point.n)};
    for (const LimitChartRow& row : rows) {
      const auto& value = point.*row.value;
      cells.push_back(value ? shown_value(*value) : std::string());
    }
    cells.push_back(mark_of(sweep, point));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::optional<PointValue> limit_value(const std::optional<double>& mean) {
  return mean ? std::optional(PointValue{*mean}) : std::nullopt;
}

LimitPoint limit_point(const ReportPoint& point, double limit_w) {
  return {.limit_w = limit_w,
          .n = point.runs.size(),
          .throughput = point_value(point[ReportQuantity::throughput]),
          .temperature = point_value(point[ReportQuantity::temperature]),
          .utilization = point_value(point[ReportQuantity::utilization]),
          .time = point_value(point[ReportQuantity::duration]),
          .energy = point_value(point[ReportQuantity::energy_per_token])};
}

// ---- What is recommended

std::string verdict_text(const LimitChoice& choice) {
  if (!choice.recommended_limit_w) return "No recommendation: " + choice.why_not + ".";
  const bool is_per_token = choice.objective == LimitObjective::energy_per_token;
  std::string text = fmt::format(
      "Recommended by {}: {}{}", is_per_token ? "energy per token" : name(choice.objective),
      limit_text(choice, *choice.recommended_limit_w), runner_up_text(choice));
  if (!choice.ties_w.empty()) {
    text += ". A tie: " + ties_text(choice);
  } else if (choice.interval_from.empty() && choice.runner_up_w) {
    text += fmt::format(". {}, so nothing says whether the difference is real",
                        choice.are_repeats_equal ? "Repeats are equal in every digit"
                        : choice.is_of_clocks    ? "Each clock was measured once"
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
                       [](const auto& member) { return !is_limit_key(member.first); });
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
    if (scenario.is_of_clocks) continue;
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
    point.throughput = PointValue{*judged.tokens / *judged.time_s};
  }
  point.time = limit_value(judged.time_s);
  point.temperature = limit_value(judged.group.temperature_c);
  point.utilization = limit_value(judged.group.utilization_pct);
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

// ---- Clocks

// Of runs whose recording was read for the page, or need not be read for that.
std::vector<LimitSweep> clock_sweeps(const ReportRuns& report, const LimitSweepRequest& request) {
  std::vector<PublishedRun> runs;
  for (const ReportRun& run : report.runs) {
    if (run.run.state != PowerState::valid) continue;
    if (run.curve || asked_clock_mhz(run.run, request.limit_key)) runs.push_back(run.run);
  }
  if (runs.size() < 2) return {};
  RunSweepRequest wanted{request.keys, request.limit_key, request.most_threads};
  std::erase(wanted.keys, kLimitKey);
  std::vector<LimitSweep> sweeps;
  for (LimitScenario& scenario : sweep_of_runs(runs, wanted).scenarios) {
    if (!scenario.is_of_clocks) continue;
    const LimitChoice choice = choose_limit(std::move(scenario), {});
    LimitSweep& sweep = sweeps.emplace_back(LimitSweep{
        .name = choice.scenario,
        .energy_title = choice.has_tokens ? "energy (J/output token)" : "energy (J)",
        .energy_formula = choice.has_tokens ? "energy / output tokens" : "energy of the window",
        .boundary = report.boundary,
        .throughput_title = "throughput (output tokens/s)",
        .is_of_clocks = true});
    for (const JudgedLimit& judged : choice.groups) {
      sweep.points.push_back(limit_point_of_table(choice, judged, nullptr));
    }
    take_choice(choice, sweep);
  }
  return sweeps;
}

// ---- Power limits

std::vector<LimitSweep> limit_sweeps(const ReportRuns& report, const LimitSweepRequest& request) {
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

}  // namespace

LimitCharts limit_charts(const LimitSweep& sweep, std::string_view source) {
  LimitCharts made;
  std::vector<LimitChartRow> rows;
  for (LimitChartRow& row : chart_rows(sweep)) {
    const bool is_known = std::ranges::any_of(
        sweep.points, [&](const LimitPoint& point) { return (point.*row.value).has_value(); });
    if (!is_known) {
      made.missing.push_back(row.axis);
      continue;
    }
    const bool is_fixed = row.value == &LimitPoint::time && !changes_with_limit(sweep, row);
    if (!is_fixed) made.charts.push_back(limit_chart(sweep, row, source));
    rows.push_back(std::move(row));
  }
  made.table = limit_table(sweep, rows);
  return made;
}

std::vector<LimitSweep> sweeps_of_runs(const ReportRuns& report, const LimitSweepRequest& request) {
  std::vector<LimitSweep> sweeps = limit_sweeps(report, request);
  std::ranges::move(clock_sweeps(report, request), std::back_inserter(sweeps));
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
