// Puts the sections together: overview first, then charts, then each run.
#include "views/page/page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/shown_number.h"
#include "chart/chart.h"

namespace aggregate_power {
namespace {

struct EnergyChart {
  Chart chart;
  FigureTable table;
  std::size_t points = 0;
  std::size_t without_speed = 0;  // points that cannot be drawn
};

// What an interval of the means of repeats is, for captions.
inline constexpr const char* kIntervalCaption =
    "n: runs of one configuration, whose mean is drawn. Bars: 95 % interval of the mean, by Student's t from the repeats, or as a single run's audit record states it for repeats on the same boards; without a bar neither is known. Sensors of different boards may differ by some 5 % beyond it.";

constexpr std::string_view kLoadKeys[] = {
    "conc", "users", "concurrency", "max_concurrency", "request_rate", "num_prompts"};
constexpr std::size_t kMostLabels = 24;
constexpr std::size_t kMostLines = 200;
constexpr std::size_t kMostLegend = 24;
constexpr std::size_t kLabelCharacters = 24;

bool is_load_key(std::string_view key) {
  return std::ranges::find(kLoadKeys, key) != std::end(kLoadKeys);
}

// What a line joins: points that differ in their load alone, or else in their power limit alone.
using IsJoined = bool (*)(std::string_view key);

IsJoined joined_keys(const ReportRuns& report) {
  if (std::ranges::any_of(report.varying, is_load_key)) return is_load_key;
  return [](std::string_view key) { return key == kLimitKey; };
}

Configuration without_joined(const Configuration& configuration, IsJoined is_joined) {
  Configuration rest;
  std::ranges::copy_if(configuration, std::back_inserter(rest),
                       [&](const auto& member) { return !is_joined(member.first); });
  return rest;
}

std::string joined_label(const Configuration& configuration, IsJoined is_joined) {
  for (const auto& [key, value] : configuration) {
    if (is_joined(key)) return fmt::format("{}={}", key, value);
  }
  return {};
}

std::optional<ErrorBar> bar_of(const RepeatStatistics& value) {
  if (!value.low || !value.high) return std::nullopt;
  return ErrorBar{*value.low, *value.high};
}

std::string with_bar(const RepeatStatistics& value) {
  return value.low && value.high ? shown_interval(value.mean, *value.low, *value.high)
                                 : shown_number(value.mean) + " (\u00B1 unknown)";
}

// An axis that holds all values: logarithmic if they differ by more than a factor of 30, else from
// 0 if they differ by more than half. `values` is not empty and finite.
Axis axis_for(std::string title, const std::vector<double>& values, std::size_t most_ticks) {
  const auto [low, high] = std::ranges::minmax(values);
  constexpr double kManyTimes = 30;
  if (low > 0 && high > kManyTimes * low) return logarithmic_axis(std::move(title), low, high);
  constexpr double kRoomAbove = 1.5;
  if (low == high && high > 0) {
    return linear_axis(std::move(title), 0, kRoomAbove * high, most_ticks);
  }
  if (low >= 0 && low < high / 2) return linear_axis(std::move(title), 0, high, most_ticks);
  const double margin = (high - low) * 0.05;
  return linear_axis(std::move(title), low - margin, high + margin, most_ticks);
}

class EnergyChartMaker {
 public:
  EnergyChartMaker(const ReportRuns& report, ReportQuantity speed, std::string_view source)
      : report_(report),
        speed_(speed),
        source_(source),
        x_(facts_of(speed, *report.metric)),
        y_(facts_of(ReportQuantity::energy_per_token, *report.metric)),
        is_joined_(joined_keys(report)) {
    for (std::size_t i = 0; i < report.points.size(); ++i) {
      if (report.points[i][speed] && report.points[i][ReportQuantity::energy_per_token]) {
        drawn_.push_back(i);
      }
    }
  }

  std::optional<EnergyChart> make() {
    if (drawn_.empty()) return std::nullopt;
    EnergyChart made;
    made.points = drawn_.size();
    made.without_speed = report_.points.size() - drawn_.size();
    Chart& chart = made.chart;
    const std::string what = speed_ == ReportQuantity::throughput ? "throughput" : "interactivity";
    chart.title =
        fmt::format("Energy per {} against {}",
                    y_.unit.substr(std::min(y_.unit.find('/') + 1, y_.unit.size())), what);
    if (y_.unit == "J") chart.title = fmt::format("Energy against {}", what);
    chart.description = fmt::format(
        "{} configurations on {} kinds of hardware; each point is the mean of its runs.",
        drawn_.size(), report_.hardware.size());
    chart.caption = caption(made.without_speed);
    chart.x = axis_for(x_.title, values(speed_), 8);
    Panel panel{.y = axis_for(y_.title, values(ReportQuantity::energy_per_token), 6),
                .height = 340};
    panel.series = series();
    chart.panels.push_back(std::move(panel));
    made.table = table();
    return made;
  }

 private:
  // With the ends of their bars, which must not be cut.
  std::vector<double> values(ReportQuantity quantity) const {
    std::vector<double> values;
    for (const std::size_t i : drawn_) {
      const RepeatStatistics& value = *report_.points[i][quantity];
      values.push_back(value.mean);
      if (const auto bar = bar_of(value)) values.insert(values.end(), {bar->low, bar->high});
    }
    return values;
  }

  std::vector<std::string> caption(std::size_t without_speed) const {
    std::vector<std::string> lines;
    lines.push_back(fmt::format(
        "{}: {}; of {} as their sensors report it, in the benchmark's window, and of nothing else in the machine. {}: {}. Down and to the right is better.",
        y_.key, y_.formula, report_.boundary, x_.key, x_.formula));
    lines.emplace_back(kIntervalCaption);
    std::string from = fmt::format("Source: {}.", source_);
    if (without_speed > 0) {
      from += fmt::format(" {} configurations do not state the x axis and are not drawn.",
                          without_speed);
    }
    lines.push_back(std::move(from));
    return lines;
  }

  std::vector<Series> series() const {
    std::vector<Series> all = lines();
    std::map<std::size_t, Series> dots;  // by hardware
    for (const std::size_t i : drawn_) {
      const ReportPoint& point = report_.points[i];
      Series& series = dots[point.hardware];
      series.style = point.hardware;
      series.dots.push_back(dot(i, point));
    }
    for (auto& [hardware, series] : dots) {
      if (all.size() < kMostLines + kMostLegend) {
        series.label = cut_text(report_.hardware[hardware], kLabelCharacters);
        series.value = fmt::format("{}", series.dots.size());
      }
      all.push_back(std::move(series));
    }
    return all;
  }

  // In the order of the load, which the points have.
  std::vector<Series> lines() const {
    std::map<Configuration, std::vector<std::size_t>> groups;
    for (const std::size_t i : drawn_) {
      groups[without_joined(report_.points[i].configuration, is_joined_)].push_back(i);
    }
    std::vector<Series> lines;
    for (const auto& [configuration, points] : groups) {
      if (points.size() < 2) continue;
      Series series{.tooltip = configuration_text(configuration),
                    .style = report_.points[points[0]].hardware};
      Polyline line;
      for (const std::size_t i : points) {
        line.push_back(place(report_.points[i]));
        series.tag += fmt::format("{}{}", series.tag.empty() ? "" : " ", i);
      }
      series.lines.push_back(std::move(line));
      lines.push_back(std::move(series));
    }
    if (lines.size() > kMostLines) lines.clear();
    return lines;
  }

  Point place(const ReportPoint& point) const {
    return {point[speed_]->mean, point[ReportQuantity::energy_per_token]->mean};
  }

  Dot dot(std::size_t number, const ReportPoint& point) const {
    const RepeatStatistics& x = *point[speed_];
    const RepeatStatistics& y = *point[ReportQuantity::energy_per_token];
    Dot dot{.at = place(point), .x_error = bar_of(x), .y_error = bar_of(y)};
    // Bars that nobody can see only hide others.
    if (drawn_.size() > kMostFigureRows) dot.x_error = std::nullopt;
    if (drawn_.size() <= kMostLabels) {
      const std::string load = joined_label(point.configuration, is_joined_);
      dot.label =
          fmt::format("{}{}n={}", cut_text(load.empty() ? point.label : load, kLabelCharacters),
                      load.empty() && point.label.empty() ? "" : ", ", y.count);
    }
    constexpr std::size_t kTooltipCharacters = 120;
    dot.tooltip =
        fmt::format("{}{}{}: {} {}, {} {}, n = {}",
                    cut_text(report_.hardware[point.hardware], kLabelCharacters),
                    point.label.empty() ? "" : " ", cut_text(point.label, kTooltipCharacters),
                    with_bar(y), y_.unit, shown_number(x.mean), x_.unit, y.count);
    dot.tag = fmt::format("{}", number);
    return dot;
  }

  FigureTable table() const {
    FigureTable table;
    table.titles.emplace_back("hw");
    for (const std::string& key : report_.varying) table.titles.push_back(key);
    table.first_number = table.titles.size();
    table.titles.insert(table.titles.end(),
                        {"n", fmt::format("{} ({})", y_.key, y_.unit), "95 % from", "to",
                         fmt::format("{} ({})", x_.key, x_.unit)});
    const auto optional_number = [](const std::optional<double>& value) {
      return value ? shown_number(*value) : std::string();
    };
    for (const std::size_t i : drawn_) {
      const ReportPoint& point = report_.points[i];
      std::vector<std::string> row = {report_.hardware[point.hardware]};
      for (const std::string& key : report_.varying) {
        row.emplace_back(member_in(point.configuration, key));
      }
      const RepeatStatistics& y = *point[ReportQuantity::energy_per_token];
      row.insert(row.end(),
                 {fmt::format("{}", y.count), shown_number(y.mean), optional_number(y.low),
                  optional_number(y.high), shown_number(point[speed_]->mean)});
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const ReportRuns& report_;
  ReportQuantity speed_;
  std::string_view source_;
  QuantityFacts x_;
  QuantityFacts y_;
  IsJoined is_joined_;
  std::vector<std::size_t> drawn_;
};

// `speed` is throughput or interactivity. A dot is tagged with its point's number, and a line with
// those of all its points. `source` says where the runs are from. Nullopt: no point has a speed.
std::optional<EnergyChart> energy_chart(const ReportRuns& report, ReportQuantity speed,
                                        std::string_view source) {
  return EnergyChartMaker(report, speed, source).make();
}

constexpr std::size_t kTitleCharacters = 120;
constexpr std::size_t kSourceCharacters = 160;
constexpr std::size_t kManyPoints = 1000;
constexpr std::size_t kMostSweeps = 20;

std::string page_head(const ReportPage& page) {
  const std::string title = html(cut_text(page.title, kTitleCharacters));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
      page_script_hash(), title, page_style(), title);
}

std::string page_notes(const ReportPage& page) {
  constexpr std::size_t kMostNotes = 20;
  if (page.notes.empty()) return {};
  std::string out = "<details class=\"notes\" open=\"open\"><summary>Notes</summary>\n<ul>\n";
  for (std::size_t i = 0; i < std::min(page.notes.size(), kMostNotes); ++i) {
    out += fmt::format("<li>{}</li>\n", html(cut_text(page.notes[i], 300)));
  }
  if (page.notes.size() > kMostNotes) {
    out += fmt::format("<li>and {} more</li>\n", page.notes.size() - kMostNotes);
  }
  return out + "</ul></details>\n";
}

std::string energy_section(const ReportPage& page) {
  const std::string source =
      fmt::format("{} of {} {} in {}, those that are valid", page.runs.count(PowerState::valid),
                  page.runs.runs.size(), page.runs.runs.size() == 1 ? "run" : "runs",
                  cut_text(page.source, kSourceCharacters));
  auto interactivity = energy_chart(page.runs, ReportQuantity::interactivity, source);
  auto throughput = energy_chart(page.runs, ReportQuantity::throughput, source);
  if (!interactivity && !throughput) return {};
  std::string out = "<section id=\"energy\">\n<h2>Energy against speed</h2>\n";
  // Two charts of so many points would make the page too large.
  if (interactivity && throughput && page.runs.points.size() > kManyPoints) {
    (throughput->points > interactivity->points ? interactivity : throughput).reset();
    out +=
        fmt::format("<p class=\"muted\">Of more than {} configurations, one chart is drawn.</p>\n",
                    kManyPoints);
  }
  if (interactivity) {
    out += chart_figure({interactivity->chart}, interactivity->table, "energy-interactivity");
  }
  if (throughput) {
    out += chart_figure({throughput->chart}, throughput->table, "energy-throughput");
  }
  return out + "</section>\n";
}

// All of them at a glance.
std::string sweep_table(const std::vector<LimitSweep>& sweeps) {
  FigureTable table{.titles = {"scenario", "limits", "from (W)", "to (W)", "recommended (W)",
                               "runner-up (W)", "worse by (%)"},
                    .first_number = 1};
  const auto limit_text = [](const std::optional<double>& limit_w) {
    return limit_w ? fmt::format("{:g}", *limit_w) : std::string();
  };
  for (const LimitSweep& sweep : sweeps) {
    table.rows.push_back({sweep.name, fmt::format("{}", sweep.points.size()),
                          limit_text(sweep.points.front().limit_w),
                          limit_text(sweep.points.back().limit_w), limit_text(sweep.recommended_w),
                          limit_text(sweep.runner_up_w),
                          sweep.margin ? fmt::format("{:.2f}", 100 * *sweep.margin) : ""});
  }
  return html_table(table, "");
}

std::string sweep_section(const ReportPage& page) {
  if (page.sweeps.empty()) return {};
  std::string out = "<section id=\"limits\">\n<h2>Power limits</h2>\n";
  if (page.sweeps.size() > 1) out += sweep_table(page.sweeps);
  for (std::size_t i = 0; i < std::min(page.sweeps.size(), kMostSweeps); ++i) {
    const LimitSweep& sweep = page.sweeps[i];
    const LimitCharts charts = limit_charts(
        sweep, cut_text(sweep.source.empty() ? page.source : sweep.source, kSourceCharacters));
    out += fmt::format("<h3>{}</h3>\n", html(cut_text(sweep.name, kTitleCharacters)));
    if (!sweep.verdict.empty()) {
      out += fmt::format("<p>{}</p>\n", html(cut_text(sweep.verdict, 400)));
    }
    if (charts.charts.empty()) continue;
    out += chart_figure(charts.charts, charts.table, fmt::format("limits-{}", i + 1));
    if (!charts.missing.empty()) {
      out += fmt::format("<p class=\"muted\">Not known at any limit: {}.</p>\n",
                         html(fmt::format("{}", fmt::join(charts.missing, ", "))));
    }
  }
  if (page.sweeps.size() > kMostSweeps) {
    out += fmt::format(
        "<p class=\"muted\">The first {} of {} sweeps are drawn; name fewer files to see others.</p>\n",
        kMostSweeps, page.sweeps.size());
  }
  return out + "</section>\n";
}

std::string runs_section(const ReportPage& page) {
  std::string out =
      "<section id=\"all-runs\">\n<h2>Runs</h2>\n"
      "<p class=\"muted\"><span class=\"screen\">The filters are in the page's address; they hide rows and, in the charts of energy, the points without a visible run.</span> "
      "\u00B1: 95 % interval between runs on the same boards, where the audit record states one.";
  if (page.runs.varying.size() > kMostMemberColumns) {
    out += fmt::format(
        " {} more members tell runs apart, from '{}' on: name those that count with --group-by.",
        page.runs.varying.size() - kMostMemberColumns,
        html(cut_text(page.runs.varying[kMostMemberColumns], kTitleCharacters)));
  }
  if (!page.curves_note.empty()) out += " " + html(page.curves_note);
  out += "</p>\n<noscript><p class=\"muted\">Filters and sorting need scripts.</p></noscript>\n";
  return out + run_table(page.runs) + "</section>\n";
}

}  // namespace

std::string page_html(const ReportPage& page) {
  std::string out = page_head(page);
  if (!page.subtitle.empty()) {
    out += fmt::format("<p class=\"muted\">{}</p>\n",
                       html(cut_text(page.subtitle, kSourceCharacters)));
  }
  const bool has_runs = !page.runs.runs.empty() || page.sweeps.empty();
  if (has_runs) out += summary_section(page.runs);
  out += page_notes(page);
  if (has_runs)
    out += "<form id=\"filters\" hidden=\"hidden\"><output id=\"count\"></output></form>\n";
  out += energy_section(page);
  out += sweep_section(page);
  out += validity_section(page.runs);
  if (has_runs) out += runs_section(page);
  out += fmt::format(
      "<footer><p class=\"muted\">Made by aggregate-power {}. Power and energy are of {}, as their sensors report them.</p></footer>\n",
      AGGREGATE_POWER_VERSION, html(page.runs.boundary));
  out += fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script());
  return out;
}

}  // namespace aggregate_power
