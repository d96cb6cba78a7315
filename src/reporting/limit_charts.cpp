// Five small charts that share their x axis, with a curve through the means.
#include "reporting/limit_charts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/shown_number.h"
#include "drawing/curve.h"
#include "reporting/html_text.h"

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
Axis close_axis(std::string title, const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  constexpr double kMargin = 0.08;
  const double margin = high > low ? (high - low) * kMargin : std::abs(high) * kMargin;
  return linear_axis(std::move(title), low - margin, high + margin, 5);
}

Chart limit_chart(const LimitSweep& sweep, const LimitChartRow& row, std::string_view source) {
  Chart chart;
  chart.title = row.heading + " against limit";
  chart.width = kChartWidth;
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
  chart.x = close_axis("power limit of a GPU (W)", limits);
  chart.panels.push_back({.y = close_axis(row.axis, values),
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
    made.charts.push_back(limit_chart(sweep, row, source));
    rows.push_back(std::move(row));
  }
  made.table = limit_table(sweep, rows);
  return made;
}

}  // namespace aggregate_power
