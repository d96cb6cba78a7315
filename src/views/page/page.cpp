// Puts the sections together: overview first, then charts, then each run.
#include "views/page/page.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kTitleCharacters = 120;
constexpr std::size_t kSourceCharacters = 160;
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

std::string page_notes(const std::vector<std::string_view>& notes) {
  constexpr std::size_t kMostNotes = 20;
  if (notes.empty()) return {};
  std::string out = "<details class=\"notes\" open=\"open\"><summary>Notes</summary>\n<ul>\n";
  for (std::size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i) {
    out += fmt::format("<li>{}</li>\n", html(cut_text(notes[i], 300)));
  }
  if (notes.size() > kMostNotes) {
    out += fmt::format("<li>and {} more</li>\n", notes.size() - kMostNotes);
  }
  return out + "</ul></details>\n";
}

// All of them at a glance.
std::string sweep_table(const std::vector<LimitSweep>& sweeps) {
  const auto in_unit = [&](const char* what) {
    return fmt::format("{} ({})", what, sweeps.front().unit());
  };
  FigureTable table{
      .titles = {"scenario", sweeps.front().is_of_clocks ? "clocks" : "limits", in_unit("from"),
                 in_unit("to"), in_unit("recommended"), in_unit("runner-up"), "worse by (%)"},
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
  return html_table(table);
}

// `id`: "limits" or "clocks", the kind of all sweeps.
std::string sweep_section(const ReportPage& page, std::string_view id, const char* title,
                          const std::vector<LimitSweep>& sweeps) {
  if (sweeps.empty()) return {};
  std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", id, title);
  if (sweeps.size() > 1) out += sweep_table(sweeps);
  for (std::size_t i = 0; i < std::min(sweeps.size(), kMostSweeps); ++i) {
    const LimitSweep& sweep = sweeps[i];
    const LimitCharts charts = limit_charts(
        sweep, cut_text(sweep.source.empty() ? page.source : sweep.source, kSourceCharacters));
    out += fmt::format("<h3>{}</h3>\n", html(cut_text(sweep.name, kTitleCharacters)));
    if (!sweep.verdict.empty()) {
      out += fmt::format("<p>{}</p>\n", html(cut_text(sweep.verdict, 400)));
    }
    if (charts.charts.empty()) continue;
    out += chart_figure(charts.charts, charts.table, fmt::format("{}-{}", id, i + 1));
    if (!charts.missing.empty()) {
      out += fmt::format("<p class=\"muted\">Not known at any {}: {}.</p>\n",
                         sweep.is_of_clocks ? "clock" : "limit",
                         html(fmt::format("{}", fmt::join(charts.missing, ", "))));
    }
  }
  if (sweeps.size() > kMostSweeps) {
    out += fmt::format(
        "<p class=\"muted\">The first {} of {} sweeps are drawn; name fewer files to see others.</p>\n",
        kMostSweeps, sweeps.size());
  }
  return out + "</section>\n";
}

std::string sweep_sections(const ReportPage& page) {
  std::vector<LimitSweep> limits;
  std::vector<LimitSweep> clocks;
  for (const LimitSweep& sweep : page.sweeps) {
    (sweep.is_of_clocks ? clocks : limits).push_back(sweep);
  }
  return sweep_section(page, "limits", "Power limits", limits) +
         sweep_section(page, "clocks", "Clocks", clocks);
}

NumberOfRuns percent_of(const NumberOfRuns& share) {
  return {100 * share.value, 100 * share.low, 100 * share.high};
}

std::string front_table(const SloFront& front) {
  FigureTable table{.titles = {"configuration", "objective", "front", "runs"}, .first_number = 3};
  for (const std::string& key : front.keys) table.titles.push_back(key);
  table.titles.emplace_back("J per good output token");
  table.titles.emplace_back("energy for requests that missed it (%)");
  for (const FrontPoint& point : front.points) {
    std::vector<std::string>& row = table.rows.emplace_back(
        std::vector<std::string>{point.name, point.holds ? "kept" : "not kept",
                                 point.is_knee       ? "front, knee"
                                 : point.is_on_front ? "front"
                                                     : "",
                                 fmt::format("{}", point.runs.size())});
    for (const NumberOfRuns& number : point.numbers) row.push_back(number_text(number));
    row.push_back(point.joules_per_good_token ? good_token_text(*point.joules_per_good_token) : "");
    row.push_back(point.missed_share ? number_text(percent_of(*point.missed_share)) : "");
  }
  return html_table(table);
}

// Which configurations keep the objective, and what that costs.
std::string objective_section(const ReportPage& page) {
  if (page.fronts.empty()) return {};
  std::string out =
      fmt::format("<section id=\"objective\">\n<h2>Objective {}</h2>\n", html(page.slo.text()));
  for (const SloFront& front : page.fronts) {
    if (!front.work.empty()) {
      out += fmt::format("<h3>{}</h3>\n", html(cut_text(front.work, kTitleCharacters)));
    }
    out += fmt::format("<p>{}</p>\n", html(cut_text(front_verdict(front), 400)));
    out += front_table(front);
  }
  return out + "</section>\n";
}

std::string runs_section(const ReportPage& page) {
  std::string out =
      "<section id=\"all-runs\">\n<h2>Runs</h2>\n"
      "<p class=\"muted\"><span class=\"screen\">The filters are in the page's address; they hide rows and, in the chart of energy, the points without a visible run.</span> "
      "(a to b): 95 % interval between runs on the same boards around the estimate, where the audit record states one, else the bounds of an estimated window around what is published.";
  if (page.runs.varying.size() > kMostMemberColumns) {
    out += fmt::format(
        " {} more members tell runs apart, from '{}' on: name those that count with --group-by.",
        page.runs.varying.size() - kMostMemberColumns,
        html(cut_text(page.runs.varying[kMostMemberColumns], kTitleCharacters)));
  }
  if (!page.curves_note.empty()) out += " " + html(page.curves_note);
  if (page.runs.is_sampled()) {
    out += fmt::format(
        " {} of {} runs have a row: as many of each configuration as fit, drawn by a hash of their names. ",
        page.runs.shown.size(), page.runs.runs.size());
    out += page.csv_name.empty()
               ? "'export --format csv' writes all."
               : fmt::format("<a href=\"{}\">{}</a> has all.", html(link_text(page.csv_name)),
                             html(printable_path(page.csv_name)));
  }
  out += "</p>\n<noscript><p class=\"muted\">Filters and sorting need scripts.</p></noscript>\n";
  return out + run_table(page.runs) + "</section>\n";
}

}  // namespace

std::string page_html(ReportPage& page) {
  std::string out = page_head(page);
  if (!page.subtitle.empty()) {
    out += fmt::format("<p class=\"muted\">{}</p>\n",
                       html(cut_text(page.subtitle, kSourceCharacters)));
  }
  const bool has_runs = !page.runs.runs.empty() || page.sweeps.empty();
  if (has_runs) out += summary_section(page.runs);
  if (has_runs)
    out +=
        "<form id=\"filters\" hidden=\"hidden\"><input type=\"search\" name=\"q\" "
        "placeholder=\"name of a run\" aria-label=\"name of a run\"/>"
        "<button type=\"button\" id=\"clear\">Clear</button><output id=\"count\"></output></form>\n";
  const std::string hardware = has_runs ? hardware_section(page.runs) : std::string();
  const std::size_t points = page.runs.points.size();
  keep_shown_points(page.runs);
  const std::string of_points = fmt::format(
      "{} of {} configurations are in the chart of energy and its table: those of runs with a row",
      page.runs.points.size(), points);
  std::vector<std::string_view> notes = page.notes;
  if (page.runs.points.size() < points) notes.push_back(of_points);
  out += energy_section(page.runs, cut_text(page.source, kSourceCharacters));
  out += hardware;
  out += objective_section(page);
  out += page_notes(notes);
  out += sweep_sections(page);
  out += validity_section(page.runs);
  if (has_runs) out += runs_section(page);
  out += fmt::format(
      "<footer><p class=\"muted\">Made by aggregate-power {}. Power and energy are of {}, as their sensors report them.</p></footer>\n",
      AGGREGATE_POWER_VERSION, html(page.runs.boundary));
  out += fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script());
  return out;
}

}  // namespace aggregate_power
