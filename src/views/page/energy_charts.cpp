// Draws the energy and power of configurations by axes that a reader may choose, and writes the
// elements around charts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/shown_number.h"
#include "chart/svg.h"
#include "views/page/page.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostCellCharacters = 96;

std::string csv_of(const FigureTable& table) {
  std::string csv;
  const auto add_row = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) csv += ',';
      csv += spreadsheet_cell(cut_text(cells[i], kMostCellCharacters));
    }
    csv += "\r\n";
  };
  add_row(table.titles);
  for (const auto& row : table.rows) add_row(row);
  return csv;
}

// `point`: what the first number of the row links to.
void append_row(std::string& out, const FigureTable& table, const std::vector<std::string>& cells,
                std::string_view element, std::optional<std::size_t> point = {}) {
  out += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_link = point && i == table.first_number;
    out += fmt::format("<{}{}>", element, i >= table.first_number ? " class=\"n\"" : "");
    if (is_link) out += fmt::format("<a href=\"#p={}\">", *point);
    append_html(out, cut_text(cells[i], kMostCellCharacters));
    out += fmt::format("{}</{}>", is_link ? "</a>" : "", element);
  }
  out += "</tr>\n";
}

}  // namespace

std::string html_table(const FigureTable& table, std::string_view others) {
  std::string out = "<div class=\"scroll\"><table><thead>\n";
  append_row(out, table, table.titles, "th");
  out += "</thead><tbody>\n";
  const std::size_t shown = std::min(table.rows.size(), kMostFigureRows);
  for (std::size_t i = 0; i < shown; ++i) {
    append_row(out, table, table.rows[i], "td",
               table.rows_are_points ? std::optional(i) : std::nullopt);
  }
  out += "</tbody></table></div>\n";
  if (shown < table.rows.size()) {
    out += fmt::format("<p class=\"muted\">The first {} of {} rows; {}.</p>\n", shown,
                       table.rows.size(), others);
  }
  return out;
}

std::string chart_figure(std::vector<Chart> charts, const FigureTable& table, const std::string& id,
                         std::string_view before, std::string_view after) {
  const bool are_many = charts.size() > 1;
  std::string out = fmt::format("<figure{}>\n{}<div class=\"charts\">\n",
                                are_many ? " class=\"many\"" : "", before);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    // Below the picture the caption fits any width.
    const std::vector<std::string> caption = std::exchange(charts[i].caption, {});
    const std::string name = are_many ? fmt::format("{}-{}", id, i + 1) : id;
    out += fmt::format("<div>\n{}", svg(charts[i], {.id = name, .has_style = false}));
    for (const std::string& line : caption) {
      out += fmt::format("<p class=\"caption\">{}</p>\n", html(line));
    }
    out += "</div>\n";
  }
  out += fmt::format("</div>\n{}<details><summary>Table ({} {})</summary>\n{}</details>\n", after,
                     table.rows.size(), table.rows.size() == 1 ? "row" : "rows",
                     html_table(table, "the CSV has all"));
  out += fmt::format("<p><a download=\"{}.csv\" href=\"{}\">CSV</a></p>\n</figure>\n", id,
                     html(data_link("text/csv", csv_of(table))));
  return out;
}

// ---- The chart of energy

namespace {

// What an interval of the means of repeats is, for captions.
constexpr const char* kIntervalCaption =
    "n: runs of one configuration, whose mean is drawn, as compare has it. Bars: 95 % interval of the mean, by Student's t from the repeats, or as a single run's audit record states it for repeats on the same boards; without a bar neither is known. Sensors of different boards may differ by some 5 % beyond it.";

constexpr std::string_view kLoadKeys[] = {
    "conc", "users", "concurrency", "max_concurrency", "request_rate", "num_prompts"};
constexpr std::size_t kMostLabels = 24;
constexpr std::size_t kMostLines = 200;
constexpr std::size_t kMostLegend = 24;
constexpr std::size_t kLabelCharacters = 24;

// What an axis may show. The page's script draws the same by the columns of the table.
struct AxisChoice {
  QuantityFacts facts;
  std::function<std::optional<PointValue>(const ReportPoint&)> value;
  std::function<std::string(double)> shown = shown_number;
};

AxisChoice measured(const ReportRuns& report, ReportQuantity quantity) {
  return {facts_of(quantity, *report.metric),
          [quantity](const ReportPoint& point) { return point_value(point[quantity]); }};
}

// `turn` rises or falls throughout.
AxisChoice derived(const AxisChoice& from, QuantityFacts facts, double (*turn)(double)) {
  const auto value = [of = from.value, turn](const ReportPoint& point) {
    auto known = of(point);
    if (!known) return known;
    PointValue turned{turn(known->mean)};
    if (known->interval && known->interval->low > 0) {
      const auto [low, high] =
          std::minmax({turn(known->interval->low), turn(known->interval->high)});
      turned.interval = ErrorBar{low, high};
    }
    return std::optional(turned);
  };
  return {std::move(facts), value};
}

// What all runs of a point have alike.
AxisChoice shared(const ReportRuns& report, QuantityFacts facts,
                  std::function<std::optional<double>(const ReportRun&)> of) {
  const auto value = [&report, of = std::move(of)](const ReportPoint& point) {
    const auto first = of(report.runs[point.runs[0]]);
    const bool is_same =
        std::ranges::all_of(point.runs, [&](std::size_t i) { return of(report.runs[i]) == first; });
    return first && is_same ? std::optional(PointValue{*first}) : std::nullopt;
  };
  return {std::move(facts), value};
}

std::optional<double> concurrency_of(const ReportRun& run) {
  for (const std::string_view key : std::span(kLoadKeys).first(4)) {
    const auto number = nearest_double(run.run.text_of(key));
    if (number && std::isfinite(*number) && *number > 0) return number;
  }
  return std::nullopt;
}

AxisChoice share_of_limit(const ReportRuns& report) {
  const auto value = [&report](const ReportPoint& point) {
    auto power = point_value(point[ReportQuantity::gpu_power]);
    const auto limit_w = report.runs[point.runs[0]].limit_w;
    if (!power || !limit_w) return std::optional<PointValue>();
    const double percent = 100 / *limit_w;
    PointValue share{power->mean * percent};
    if (power->interval) {
      share.interval = ErrorBar{power->interval->low * percent, power->interval->high * percent};
    }
    return std::optional(share);
  };
  return {{.key = "limit_share",
           .title = "power of a GPU (% of its limit)",
           .unit = "%",
           .formula = "mean power of a GPU / its power limit, or the --tdp where it states none"},
          value};
}

AxisChoice start_of(const ReportRuns& report) {
  const auto value = [&report](const ReportPoint& point) {
    double first = std::numeric_limits<double>::infinity();
    for (const std::size_t i : point.runs) {
      const double start = report.runs[i].run.start_unix_s;
      if (start > 0) first = std::min(first, start);
    }
    return std::isfinite(first) ? std::optional(PointValue{first}) : std::nullopt;
  };
  return {
      {.key = "start", .title = "start (UTC)", .formula = "when the window of the first run began"},
      value,
      [](double unix_s) {
        const std::string minute = shown_minute(unix_s);  // "2026-09-08 07:20 UTC"
        return minute.substr(0, 10) + "T" + minute.substr(11, 5) + "Z";
      }};
}

// Those that some point has, each once.
std::vector<AxisChoice> known(const ReportRuns& report, std::vector<AxisChoice> choices) {
  std::vector<std::string> keys;
  std::erase_if(choices, [&](const AxisChoice& choice) {
    const bool is_new = std::ranges::find(keys, choice.facts.key) == keys.end();
    keys.push_back(choice.facts.key);
    return !is_new || std::ranges::none_of(report.points, [&](const ReportPoint& point) {
      return choice.value(point).has_value();
    });
  });
  return choices;
}

std::vector<AxisChoice> vertical_choices(const ReportRuns& report) {
  const AxisChoice energy = measured(report, ReportQuantity::energy_per_token);
  std::vector<AxisChoice> choices = {energy,
                                     measured(report, ReportQuantity::energy_per_total_token)};
  if (energy.facts.unit.ends_with("token")) {
    const std::string tokens = energy.facts.unit.substr(2) + "s/J";
    choices.push_back(derived(energy,
                              {.key = "tokens_per_joule",
                               .title = fmt::format("tokens per joule ({})", tokens),
                               .unit = tokens,
                               .formula = "1 / " + energy.facts.key},
                              [](double joules) { return 1 / joules; }));
  }
  choices.push_back(derived(measured(report, ReportQuantity::energy_per_query),
                            {.key = "wh_per_request",
                             .title = "energy (Wh/request)",
                             .unit = "Wh/request",
                             .formula = "joules_per_successful_query / 3600"},
                            [](double joules) { return joules / 3600; }));
  choices.push_back(measured(report, ReportQuantity::gpu_power));
  choices.push_back(share_of_limit(report));
  return known(report, std::move(choices));
}

std::vector<AxisChoice> horizontal_choices(const ReportRuns& report) {
  return known(report, {measured(report, ReportQuantity::interactivity),
                        measured(report, ReportQuantity::throughput),
                        shared(report,
                               {.key = "concurrency",
                                .title = "concurrency (requests)",
                                .unit = "requests",
                                .formula = "requests at a time, as the aggregates state them"},
                               concurrency_of),
                        shared(report,
                               {.key = "power_limit_w",
                                .title = "power limit of a GPU (W)",
                                .unit = "W",
                                .formula = "power limit of a GPU"},
                               [](const ReportRun& run) { return run.limit_w; }),
                        start_of(report)});
}

// The chart as the page shows it first.
struct EnergyChart {
  const ReportRuns& report;
  const AxisChoice& x;
  const AxisChoice& y;
  std::vector<std::size_t> drawn;  // points that have both
};

EnergyChart energy_chart(const ReportRuns& report, const AxisChoice& x, const AxisChoice& y) {
  EnergyChart chart{report, x, y, {}};
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    if (x.value(report.points[i]) && y.value(report.points[i])) chart.drawn.push_back(i);
  }
  return chart;
}

bool varies(const EnergyChart& chart) {
  return std::ranges::any_of(chart.drawn, [&](std::size_t i) {
    return chart.x.value(chart.report.points[i])->mean !=
           chart.x.value(chart.report.points[chart.drawn[0]])->mean;
  });
}

bool is_load_key(std::string_view key) {
  return std::ranges::find(kLoadKeys, key) != std::end(kLoadKeys);
}

// What a line joins: points that differ in their load alone, or else in their power limit alone.
using IsJoined = bool (*)(std::string_view key);

IsJoined joined_keys(const ReportRuns& report) {
  if (std::ranges::any_of(report.varying, is_load_key)) return is_load_key;
  return [](std::string_view key) { return key == kLimitKey; };
}

std::string joined_label(const Configuration& configuration, IsJoined is_joined) {
  for (const auto& [key, value] : configuration) {
    if (is_joined(key)) return fmt::format("{}={}", key, value);
  }
  return {};
}

// With the ends of their bars, which must not be cut: logarithmic if they differ by more than a
// factor of 30, else from 0 if they differ by more than half. The page's script does the same.
Axis axis_for(const EnergyChart& chart, const AxisChoice& of, std::size_t most_ticks) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const std::size_t i : chart.drawn) {
    const PointValue value = *of.value(chart.report.points[i]);
    low = std::min(low, value.interval ? value.interval->low : value.mean);
    high = std::max(high, value.interval ? value.interval->high : value.mean);
  }
  const std::string& title = of.facts.title;
  constexpr double kManyTimes = 30;
  constexpr double kRoomAbove = 1.5;
  if (of.facts.key == "start") {
    Axis axis = linear_axis(title, low, high, 4);
    for (Tick& tick : axis.ticks) tick.label = of.shown(tick.at);
    const auto is_repeated = [](const Tick& a, const Tick& b) { return a.label == b.label; };
    axis.ticks.erase(std::unique(axis.ticks.begin(), axis.ticks.end(), is_repeated),
                     axis.ticks.end());
    return axis;
  }
  if (low > 0 && high > kManyTimes * low) return logarithmic_axis(title, low, high);
  if (low == high && high > 0) return linear_axis(title, 0, kRoomAbove * high, most_ticks);
  if (low >= 0 && low < high / 2) return linear_axis(title, 0, high, most_ticks);
  const double margin = (high - low) * 0.05;
  return linear_axis(title, low - margin, high + margin, most_ticks);
}

Point place_of(const EnergyChart& chart, const ReportPoint& point) {
  return {chart.x.value(point)->mean, chart.y.value(point)->mean};
}

// In the order of the load, which the points have.
std::vector<Series> energy_lines(const EnergyChart& chart, IsJoined is_joined) {
  std::map<Configuration, std::vector<std::size_t>> groups;
  for (const std::size_t i : chart.drawn) {
    Configuration rest = chart.report.points[i].configuration;
    std::erase_if(rest, [&](const auto& member) { return is_joined(member.first); });
    groups[std::move(rest)].push_back(i);
  }
  std::vector<Series> lines;
  for (const auto& [configuration, points] : groups) {
    if (points.size() < 2) continue;
    Series series{.tooltip = configuration_text(configuration),
                  .style = chart.report.points[points[0]].hardware};
    Polyline line;
    for (const std::size_t i : points) {
      line.push_back(place_of(chart, chart.report.points[i]));
      series.tag += fmt::format("{}{}", series.tag.empty() ? "" : " ", i);
    }
    series.lines.push_back(std::move(line));
    lines.push_back(std::move(series));
  }
  if (lines.size() > kMostLines) lines.clear();
  return lines;
}

// Without a place if the point lacks one of the two.
Dot energy_dot(const EnergyChart& chart, std::size_t number, IsJoined is_joined) {
  const ReportPoint& point = chart.report.points[number];
  const auto x = chart.x.value(point);
  const auto y = chart.y.value(point);
  constexpr double kNowhere = std::numeric_limits<double>::quiet_NaN();
  Dot dot{.at = {kNowhere, kNowhere}, .tag = fmt::format("{}", number)};
  if (!x || !y) return dot;
  dot.at = {x->mean, y->mean};
  dot.y_error = y->interval;
  const std::size_t n = point.runs.size();
  if (chart.drawn.size() <= kMostLabels) {
    const std::string load = joined_label(point.configuration, is_joined);
    dot.label =
        fmt::format("{}{}n={}", cut_text(load.empty() ? point.label : load, kLabelCharacters),
                    load.empty() && point.label.empty() ? "" : ", ", n);
  }
  constexpr std::size_t kTooltipCharacters = 120;
  dot.tooltip =
      fmt::format("{}{}{}: {}{} {}, {} {}, n = {}",
                  cut_text(chart.report.hardware[point.hardware], kLabelCharacters),
                  point.label.empty() ? "" : " ", cut_text(point.label, kTooltipCharacters),
                  shown_value(*y), y->interval ? "" : " (\u00B1 unknown)", chart.y.facts.unit,
                  chart.x.shown(x->mean), chart.x.facts.unit, n);
  return dot;
}

// The script words it alike.
std::string chart_title(const AxisChoice& x, const AxisChoice& y) {
  return fmt::format("Mean {} against {}", y.facts.title,
                     x.facts.title.substr(0, x.facts.title.find(" (")));
}

Chart drawn_chart(const EnergyChart& chart, std::string_view source) {
  const ReportRuns& report = chart.report;
  Chart drawn;
  drawn.title = chart_title(chart.x, chart.y);
  drawn.description =
      fmt::format("{} configurations on {} kinds of hardware; each point is the mean of its runs.",
                  chart.drawn.size(), report.hardware.size());
  const std::size_t missing = report.points.size() - chart.drawn.size();
  drawn.caption = {
      fmt::format("{}: {}. {}: {}.", chart.y.facts.key, chart.y.facts.formula, chart.x.facts.key,
                  chart.x.facts.formula),
      fmt::format(
          "Power and energy are of {} as their sensors report it, in the benchmark's window, and of nothing else in the machine. {}",
          report.boundary, kIntervalCaption),
      fmt::format(
          "Source: {} of {} {} in {}, those that are valid.{}", report.count(PowerState::valid),
          report.runs.size(), report.runs.size() == 1 ? "run" : "runs", source,
          missing == 0 ? "" : fmt::format(" {} configurations do not state both axes.", missing))};
  drawn.x = axis_for(chart, chart.x, 8);
  const IsJoined is_joined = joined_keys(report);
  Panel panel{.y = axis_for(chart, chart.y, 6), .height = 340};
  panel.series = energy_lines(chart, is_joined);
  std::map<std::size_t, Series> dots;  // by hardware
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    Series& series = dots[report.points[i].hardware];
    series.style = report.points[i].hardware;
    series.dots.push_back(energy_dot(chart, i, is_joined));
  }
  for (auto& [hardware, series] : dots) panel.series.push_back(std::move(series));
  drawn.panels.push_back(std::move(panel));
  return drawn;
}

// A column for each choice of an axis, and two for its interval if any point has one.
void add_column(const ReportRuns& report, const AxisChoice& choice, FigureTable& table) {
  const std::string unit = choice.facts.unit.empty() ? "UTC" : choice.facts.unit;
  table.titles.push_back(fmt::format("{} ({})", choice.facts.key, unit));
  const bool has_bars = std::ranges::any_of(report.points, [&](const ReportPoint& point) {
    const auto value = choice.value(point);
    return value && value->interval;
  });
  if (has_bars) table.titles.insert(table.titles.end(), {"95 % from", "to"});
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const auto value = choice.value(report.points[i]);
    const bool has_bar = value && value->interval;
    std::vector<std::string>& row = table.rows[i];
    row.push_back(value ? choice.shown(value->mean) : "");
    if (!has_bars) continue;
    row.push_back(has_bar ? choice.shown(value->interval->low) : "");
    row.push_back(has_bar ? choice.shown(value->interval->high) : "");
  }
}

FigureTable energy_table(const ReportRuns& report, const std::vector<AxisChoice>& ys,
                         const std::vector<AxisChoice>& xs) {
  FigureTable table{
      .titles = {"hw"}, .first_number = 1 + report.varying.size(), .rows_are_points = true};
  table.titles.insert(table.titles.end(), report.varying.begin(), report.varying.end());
  table.titles.emplace_back("n");
  for (const ReportPoint& point : report.points) {
    std::vector<std::string> row = {report.hardware[point.hardware]};
    for (const std::string& key : report.varying) {
      row.emplace_back(member_in(point.configuration, key));
    }
    row.push_back(fmt::format("{}", point.runs.size()));
    table.rows.push_back(std::move(row));
  }
  for (const AxisChoice& y : ys) add_column(report, y, table);
  for (const AxisChoice& x : xs) add_column(report, x, table);
  return table;
}

std::string axis_menu(std::string_view words, char name, const std::vector<AxisChoice>& choices,
                      const AxisChoice& first) {
  std::string out = fmt::format("<label>{} <select name=\"{}\">", words, name);
  for (const AxisChoice& choice : choices) {
    out += fmt::format("<option value=\"{}\" title=\"{}\"{}>{}</option>\n", choice.facts.key,
                       html(choice.facts.formula),
                       &choice == &first ? " selected=\"selected\"" : "", html(choice.facts.title));
  }
  return out + fmt::format(
                   "</select></label> <label>scale <select name=\"{}log\">"
                   "<option value=\"\" selected=\"selected\">automatic</option>"
                   "<option value=\"0\">linear</option><option value=\"1\">logarithmic</option>"
                   "</select></label>\n",
                   name);
}

std::string hardware_legend(const EnergyChart& chart) {
  std::map<std::size_t, std::size_t> counts;
  for (const std::size_t i : chart.drawn) ++counts[chart.report.points[i].hardware];
  std::string out = "<ul class=\"legend\">";
  std::size_t shown = 0;
  for (const auto& [hardware, count] : counts) {
    if (++shown > kMostLegend) break;
    out += fmt::format("<li class=\"k{}\">{} <small>{}</small></li>\n", colour_number(hardware),
                       html(cut_text(chart.report.hardware[hardware], kLabelCharacters)), count);
  }
  return out + "</ul>\n";
}

}  // namespace

std::string energy_section(const ReportRuns& report, std::string_view source) {
  const std::vector<AxisChoice> ys = vertical_choices(report);
  const std::vector<AxisChoice> xs = horizontal_choices(report);
  if (ys.empty() || xs.empty()) return {};
  // Points that are all at one place of an axis say little.
  auto at_first = std::ranges::find_if(
      xs, [&](const AxisChoice& x) { return varies(energy_chart(report, x, ys[0])); });
  if (at_first == xs.end()) {
    at_first = std::ranges::find_if(
        xs, [&](const AxisChoice& x) { return !energy_chart(report, x, ys[0]).drawn.empty(); });
  }
  if (at_first == xs.end()) return {};
  const EnergyChart chart = energy_chart(report, *at_first, ys[0]);
  const std::string before =
      fmt::format("<p id=\"axes\" class=\"axes\" hidden=\"hidden\">{}{}</p>\n{}",
                  axis_menu("vertical", 'y', ys, ys[0]),
                  axis_menu("horizontal", 'x', xs, *at_first), hardware_legend(chart));
  return "<section id=\"energy\">\n<h2>Energy and power</h2>\n" +
         chart_figure({drawn_chart(chart, source)}, energy_table(report, ys, xs), "energy-chart",
                      before, "<div id=\"point\" aria-live=\"polite\" hidden=\"hidden\"></div>\n") +
         "</section>\n";
}

}  // namespace aggregate_power
