// Five small charts that share their x axis, with a curve through the means.
#include "reporting/limit_charts.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "decisions/compared_configurations.h"
#include "drawing/curve.h"
#include "reporting/energy_charts.h"
#include "reporting/html_text.h"
#include "reporting/shown_number.h"

namespace aggregate_power {
namespace {

constexpr double kChartWidth = 380;
constexpr double kChartHeight = 190;
constexpr std::size_t kCurveSteps = 16;

struct LimitChartRow {
  std::string heading;  // of the chart
  std::string axis;
  std::string formula;
  std::optional<LimitValue> LimitPoint::*value;
};

std::vector<LimitChartRow> chart_rows(const LimitSweep& sweep) {
  return {{"Throughput", sweep.throughput_title, "work / time", &LimitPoint::throughput},
          {"Temperature", "temperature (\u00B0C)", "mean of the GPUs in the window",
           &LimitPoint::temperature},
          {"Utilization", "utilization (%)", "mean of the GPUs in the window",
           &LimitPoint::utilization},
          {"Time", sweep.time_title, "length of the window", &LimitPoint::time},
          {"Energy", sweep.energy_title, sweep.energy_formula, &LimitPoint::energy}};
}

std::optional<LimitValue> limit_value(const std::optional<RepeatStatistics>& statistics) {
  if (!statistics) return std::nullopt;
  LimitValue value{statistics->mean};
  if (statistics->low && statistics->high) {
    value.interval = ErrorBar{*statistics->low, *statistics->high};
  }
  return value;
}

std::string shown_limit_value(const LimitValue& value) {
  if (!value.interval) return shown_number(value.mean);
  return shown_interval(value.mean, value.interval->low, value.interval->high);
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
  const LimitValue& value = *(point.*row.value);
  Dot dot{.at = {point.limit_w, value.mean}, .y_error = value.interval};
  dot.is_marked = is_recommended(sweep, point);
  if (dot.is_marked) dot.label = fmt::format("{:g} W", point.limit_w);
  const std::string mark = mark_of(sweep, point);
  dot.tooltip = fmt::format("{:g} W: {} {}, n = {}{}{}", point.limit_w, shown_limit_value(value),
                            row.axis, point.n, mark.empty() ? "" : ", ", mark);
  return dot;
}

// Where the quantity is missing at a limit, the curve is broken.
Series limit_series(const LimitSweep& sweep, const LimitChartRow& row) {
  Series series{.style = sweep.hardware};
  std::vector<Point> stretch;
  const auto end_stretch = [&] {
    if (stretch.size() > 1) series.lines.push_back(monotone_curve(stretch, kCurveSteps));
    stretch.clear();
  };
  for (const LimitPoint& point : sweep.points) {
    if (!(point.*row.value)) {
      end_stretch();
      continue;
    }
    series.dots.push_back(limit_dot(sweep, point, row));
    stretch.push_back(series.dots.back().at);
  }
  end_stretch();
  return series;
}

Chart limit_chart(const LimitSweep& sweep, const LimitChartRow& row, std::string_view source) {
  Chart chart{.title = row.heading + " against limit", .width = kChartWidth};
  chart.description = fmt::format("{} at each power limit of {}", row.axis, sweep.name);
  std::vector<double> limits;
  std::vector<double> values;
  for (const LimitPoint& point : sweep.points) {
    limits.push_back(point.limit_w);
    const auto& value = point.*row.value;
    if (!value) continue;
    values.push_back(value->mean);
    if (value->interval) values.insert(values.end(), {value->interval->low, value->interval->high});
  }
  chart.x = axis_for("power limit of a GPU (W)", limits, 5);
  const auto [low, high] = std::ranges::minmax(values);
  const double margin = (high - low) * 0.08;
  Panel panel{.y = linear_axis(row.axis, low - margin, high + margin, 5), .height = kChartHeight};
  panel.series.push_back(limit_series(sweep, row));
  chart.panels.push_back(std::move(panel));
  chart.caption = {
      shortened(sweep.name, 90),
      fmt::format("{}: {}; GPU boards as reported. Points: means of n {}, bars 95 %. The curve is a monotone cubic.{}",
                  row.heading, row.formula, sweep.n_is,
                  sweep.recommended_w ? " Ring: recommended." : ""),
      fmt::format("Source: {}.", source)};
  return chart;
}

FigureTable limit_table(const LimitSweep& sweep, const std::vector<LimitChartRow>& rows) {
  FigureTable table{.titles = {"limit (W)", "n"}};
  for (const LimitChartRow& row : rows) table.titles.push_back(row.axis);
  table.titles.emplace_back("mark");
  for (const LimitPoint& point : sweep.points) {
    std::vector<std::string> cells = {fmt::format("{:g}", point.limit_w),
                                      fmt::format("{}", point.n)};
    for (const LimitChartRow& row : rows) {
      const auto& value = point.*row.value;
      cells.push_back(value ? shown_limit_value(*value) : std::string());
    }
    cells.push_back(mark_of(sweep, point));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Configuration without_limit(const Configuration& configuration) {
  Configuration rest;
  std::ranges::copy_if(configuration, std::back_inserter(rest),
                       [](const auto& member) { return member.first != kLimitKey; });
  return rest;
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

}  // namespace

std::vector<LimitSweep> limit_sweeps_of(const ReportRuns& report) {
  std::map<Configuration, std::vector<std::size_t>, ConfigurationLess> scenarios;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const Configuration& configuration = report.points[i].configuration;
    if (member_in(configuration, kLimitKey).empty()) continue;
    scenarios[without_limit(configuration)].push_back(i);
  }
  const QuantityFacts energy = facts_of(ReportQuantity::energy_per_token, *report.metric);
  std::vector<LimitSweep> sweeps;
  for (const auto& [configuration, points] : scenarios) {
    if (points.size() < 2) continue;
    LimitSweep sweep{.name = configuration_text(configuration),
                     .hardware = report.points[points[0]].hardware,
                     .energy_title = energy.title,
                     .energy_formula = energy.formula};
    for (const std::size_t i : points) {
      const ReportPoint& point = report.points[i];
      const PublishedRun& run = report.runs[point.runs[0]].run;
      sweep.points.push_back(limit_point(point, named_limit_w(run, report.limit_key).value()));
    }
    std::ranges::sort(sweep.points, {}, &LimitPoint::limit_w);
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

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
    made.charts.push_back(limit_chart(sweep, row, source));
    rows.push_back(std::move(row));
  }
  made.table = limit_table(sweep, rows);
  return made;
}

}  // namespace aggregate_power
