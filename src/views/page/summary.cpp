// What came out, at a glance.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/reason.h"
#include "base/text/shown_number.h"
#include "chart/chart.h"
#include "core/energy/recording_summary.h"
#include "decide/compare/compare.h"
#include "views/page/page.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kSharedCharacters = 60;
constexpr std::size_t kMostSummaryRows = 100;  // of a table

std::string more_rows(std::size_t rows) {
  if (rows <= kMostSummaryRows) return {};
  return fmt::format("<p class=\"muted\">and {} more</p>\n", rows - kMostSummaryRows);
}

std::string tile(std::string_view number, std::string_view what, bool is_bad = false) {
  return fmt::format("<li{}><b>{}</b>{}</li>\n", is_bad ? " class=\"bad\"" : "", html(number),
                     html(what));
}

// "1.234 kWh"; energies of runs that are copies of one measurement count once.
std::string shown_energy(double joules) {
  constexpr double kJoulesOfWh = 3600;
  const double wh = joules / kJoulesOfWh;
  if (wh >= 1e6) return shown_number(wh / 1e6) + " MWh";
  return wh >= 1000 ? shown_number(wh / 1000) + " kWh" : shown_number(wh) + " Wh";
}

std::optional<double> total_energy_j(const ReportRuns& report) {
  double sum = 0;
  bool is_known = false;
  std::set<std::pair<double, double>> known;  // start and energy: copies begin at one instant
  for (const ReportRun& run : report.runs) {
    const auto energy = quantity_of(run.run, ReportQuantity::energy, *report.metric);
    if (!energy) continue;
    if (run.run.start_unix_s != 0 && !known.insert({run.run.start_unix_s, *energy}).second)
      continue;
    sum += *energy;
    is_known = true;
  }
  return is_known ? std::optional(sum) : std::nullopt;
}

std::string period_of(const ReportRuns& report) {
  double first = 0;
  double last = 0;
  for (const ReportRun& run : report.runs) {
    if (run.run.start_unix_s == 0) continue;
    first = first == 0 ? run.run.start_unix_s : std::min(first, run.run.start_unix_s);
    last = std::max(last, run.run.start_unix_s + run.run.duration_s);
  }
  if (first == 0) return {};
  return fmt::format("{} to {}", shown_minute(first), shown_minute(last));
}

struct HardwareRow {
  std::size_t runs = 0;
  std::size_t valid = 0;
  std::vector<double> energies;  // per token, of its points
  double least = 0;              // of these
  std::string best;              // the label of its point
};

std::vector<HardwareRow> hardware_rows(const ReportRuns& report) {
  std::vector<HardwareRow> rows(report.hardware.size());
  for (const ReportRun& run : report.runs) {
    ++rows[run.hardware].runs;
    rows[run.hardware].valid += run.run.state == PowerState::valid ? 1 : 0;
  }
  for (const ReportPoint& point : report.points) {
    HardwareRow& row = rows[point.hardware];
    const auto& energy = point[ReportQuantity::energy_per_token];
    if (!energy) continue;
    if (row.energies.empty() || energy->mean < row.least) {
      row.least = energy->mean;
      row.best = point.label;
    }
    row.energies.push_back(energy->mean);
  }
  return rows;
}

std::string hardware_table(const ReportRuns& report) {
  const QuantityFacts energy = facts_of(ReportQuantity::energy_per_token, *report.metric);
  std::string out = fmt::format(
      "<div class=\"scroll\"><table><thead><tr><th>hardware</th><th class=\"n\">runs</th>"
      "<th class=\"n\">valid</th><th class=\"n\">configurations</th><th class=\"n\">least {0}</th>"
      "<th>at</th><th class=\"n\">most {0}</th></tr></thead><tbody>\n",
      html(energy.unit));
  const auto number_cell = [](const std::vector<double>& values, auto choose) {
    return values.empty() ? std::string("<td class=\"n\">\u2013</td>")
                          : fmt::format("<td class=\"n\">{}</td>", shown_number(choose(values)));
  };
  const auto least = [](const auto& values) { return *std::ranges::min_element(values); };
  const auto most = [](const auto& values) { return *std::ranges::max_element(values); };
  const std::vector<HardwareRow> rows = hardware_rows(report);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostSummaryRows); ++i) {
    const HardwareRow& row = rows[i];
    out += fmt::format(
        "<tr><td class=\"k{}\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td>",
        colour_number(i), html(cut_text(report.hardware[i], kSharedCharacters)), row.runs,
        row.valid, row.energies.size());
    out += number_cell(row.energies, least) +
           fmt::format("<td>{}</td>", html(cut_text(row.best, kSharedCharacters))) +
           number_cell(row.energies, most) + "</tr>\n";
  }
  return out + "</tbody></table></div>\n" + more_rows(rows.size());
}

// ---- The best configuration

using PointsByWork = std::map<Configuration, std::vector<const ReportPoint*>, ConfigurationLess>;

// Each with the best one first.
PointsByWork points_by_work(const ReportRuns& report) {
  PointsByWork all;
  for (const ReportPoint& point : report.points) {
    if (!point[ReportQuantity::energy_per_token]) continue;
    all[work_of(point.configuration)].push_back(&point);
  }
  for (auto& [work, points] : all) {
    std::ranges::stable_sort(points, {}, [](const ReportPoint* point) {
      return (*point)[ReportQuantity::energy_per_token]->mean;
    });
  }
  return all;
}

std::string name_of(const ReportRuns& report, const ReportPoint& point) {
  std::string name = report.hardware.size() > 1 ? report.hardware[point.hardware] + " " : "";
  name += point.label;
  return html(
      cut_text(name.empty() ? report.hardware[point.hardware] : name, 2 * kSharedCharacters));
}

std::string energy_of(const ReportPoint& point) {
  const auto& energy = point[ReportQuantity::energy_per_token];
  return shown_value(*point_value(energy)) + (energy->low ? "" : " (\u00B1 unknown)");
}

// As `compare BEST --with NEXT` has it.
std::string change_text(const ReportRuns& report, const ReportPoint& best,
                        const ReportPoint& next) {
  const auto change = compare_repeats(report.runs_of(best), report.runs_of(next),
                                      {.metric = std::string(report.metric->key)})
                          .change;
  if (!change) {
    return fmt::format(
        "{:.2f} % more; without repeats or stated intervals nothing says whether that is real",
        100 * (next[ReportQuantity::energy_per_token]->mean /
                   best[ReportQuantity::energy_per_token]->mean -
               1));
  }
  return fmt::format("{:.2f} % more ({:.2f} to {:.2f} %, 95 %){}", 100 * change->change,
                     100 * change->low, 100 * change->high,
                     change->low > 0 ? "" : ", which may be chance");
}

std::string answer(const ReportRuns& report, const Configuration& work,
                   const std::vector<const ReportPoint*>& points, bool names_work) {
  const ReportPoint& best = *points[0];
  std::string out = fmt::format(
      "<p class=\"answer\">{}Least energy{}: <b>{}</b>, <b>{} {}</b>, n = {}.",
      names_work ? html(cut_text(configuration_text(work), kSharedCharacters)) + ": " : "",
      points.size() > 1 ? fmt::format(" of {} configurations", points.size()) : "",
      name_of(report, best), energy_of(best), html(report.metric->unit), best.runs.size());
  if (points.size() > 1) {
    const ReportPoint& next = *points[1];
    out += fmt::format(" The next, {}, uses {}: {}, n = {}.", name_of(report, next),
                       change_text(report, best, next), energy_of(next), next.runs.size());
  }
  return out + "</p>\n";
}

std::string answers(const ReportRuns& report) {
  constexpr std::size_t kMostAnswers = 4;
  const PointsByWork all = points_by_work(report);
  std::string out;
  std::size_t shown = 0;
  for (const auto& [work, points] : all) {
    if (++shown <= kMostAnswers) out += answer(report, work, points, all.size() > 1);
  }
  if (shown > kMostAnswers) {
    out += fmt::format("<p class=\"muted\">and {} more kinds of work: see the filters.</p>\n",
                       shown - kMostAnswers);
  }
  return out;
}

struct ReasonRow {
  std::size_t runs = 0;
  std::vector<std::string> names;  // the first ones
};

void note_reason(ReasonRow& row, const ReportRun& run) {
  constexpr std::size_t kFewNames = 3;
  ++row.runs;
  if (row.names.size() < kFewNames) row.names.push_back(cut_text(run.name(), kSharedCharacters));
}

std::map<std::string, ReasonRow> reason_rows(const ReportRuns& report) {
  std::map<std::string, ReasonRow> rows;
  for (const ReportRun& run : report.runs) {
    if (run.run.state == PowerState::valid) continue;
    if (!run.run.doubt.empty()) {
      note_reason(rows[run.run.is_impossible ? "a number that no run can have"
                                             : "aggregate and record differ"],
                  run);
    } else if (run.run.reasons.empty()) {
      note_reason(rows[run.run.state == PowerState::none ? "no power" : "no reason is stated"],
                  run);
    }
    for (const std::string& reason : run.run.reasons) note_reason(rows[reason], run);
  }
  return rows;
}

// By the reasons that the callers of valid runs accepted.
std::map<std::string, ReasonRow> accepted_rows(const ReportRuns& report) {
  std::map<std::string, ReasonRow> rows;
  for (const ReportRun& run : report.runs) {
    if (run.run.state != PowerState::valid) continue;
    for (const std::string& reason : run.run.accepted) note_reason(rows[reason], run);
  }
  return rows;
}

std::size_t count_accepted(const ReportRuns& report) {
  return static_cast<std::size_t>(std::ranges::count_if(report.runs, [](const ReportRun& run) {
    return run.run.state == PowerState::valid && !run.run.accepted.empty();
  }));
}

// What pages have in backticks.
std::string without_backticks(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '`');
  return plain;
}

struct ReasonTexts {
  std::string meaning;
  std::string remedy;
};

ReasonTexts texts_of_reason(const std::string& code) {
  if (const auto reason = reason_of(code)) {
    return {without_backticks(meaning(*reason)), without_backticks(remedy(*reason))};
  }
  if (code == "no power") {
    return {
        "the aggregate has no power, and no recording of the run was found here",
        "run aggregate-power backfill on the folder that also holds the recordings and the benchmarks' results"};
  }
  if (code == "aggregate and record differ") {
    return {"a number in the aggregate is not that of its audit record",
            "run aggregate-power verify on both"};
  }
  if (code == "a number that no run can have") {
    return {"a number in the aggregate or its record is not above 0, above 10^15 or below 10^-15",
            "run aggregate-power verify on both, or compute the run again"};
  }
  return {};
}

std::string reasons_section(std::string_view id, std::string_view title, std::string_view what,
                            const std::map<std::string, ReasonRow>& rows) {
  if (rows.empty()) return {};
  std::string out = fmt::format(
      "<section id=\"{}\">\n<h2>{}</h2>\n"
      "<p>{}</p>\n"
      "<div class=\"scroll\"><table><thead><tr><th>reason</th><th class=\"n\">runs</th>"
      "<th>what it means</th><th>what to do</th><th>such as</th></tr></thead><tbody>\n",
      id, title, what);
  std::size_t shown = 0;
  for (const auto& [code, row] : rows) {
    if (++shown > kMostSummaryRows) break;
    const ReasonTexts texts = texts_of_reason(code);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html(cut_text(code, kSharedCharacters)), row.runs, html(texts.meaning), html(texts.remedy),
        html(fmt::format("{}", fmt::join(row.names, ", "))));
  }
  return out + "</tbody></table></div>\n" + more_rows(rows.size()) + "</section>\n";
}

}  // namespace

std::string summary_section(const ReportRuns& report) {
  const std::size_t valid = report.count(PowerState::valid);
  const std::size_t not_valid = report.count(PowerState::not_valid);
  const std::size_t none = report.count(PowerState::none);
  std::string out = "<section id=\"summary\">\n" + answers(report) + "<ul class=\"tiles\">\n";
  out += tile(fmt::format("{}", report.runs.size()), report.runs.size() == 1 ? "run" : "runs");
  out += tile(fmt::format("{}", valid), "valid");
  if (not_valid > 0) out += tile(fmt::format("{}", not_valid), "not valid", true);
  if (const std::size_t accepted = count_accepted(report); accepted > 0) {
    out += tile(fmt::format("{}", accepted), "valid in spite of a reason", true);
  }
  if (none > 0) out += tile(fmt::format("{}", none), "without power", true);
  out += tile(fmt::format("{}", report.points.size()),
              report.points.size() == 1 ? "configuration" : "configurations");
  if (const auto energy = total_energy_j(report)) {
    out += tile(shown_energy(*energy), "measured in all windows");
  }
  out += "</ul>\n";
  return out + "</section>\n";
}

std::string hardware_section(const ReportRuns& report) {
  if (report.runs.empty()) return {};
  std::string out = "<section id=\"hardware\">\n<h2>Hardware</h2>\n";
  if (const std::string period = period_of(report); !period.empty()) {
    out += fmt::format("<p>Measured from {}.</p>\n", html(period));
  }
  if (!report.shared.empty() && report.runs.size() > 1) {
    out += fmt::format("<p>All runs: {}.</p>\n",
                       html(cut_text(configuration_text(report.shared), 400)));
  }
  if (report.copies > 0) {
    out += fmt::format(
        "<p class=\"muted\">{} runs are copies of a measurement that is here already: a copy is no repeat, and is not counted in n.</p>\n",
        report.copies);
  }
  return out + hardware_table(report) + "</section>\n";
}

std::string validity_section(const ReportRuns& report) {
  return reasons_section(
             "validity", "Runs that are not valid",
             "They are in the table of runs, without power and energy, and in no chart.",
             reason_rows(report)) +
         reasons_section(
             "accepted", "Runs published in spite of a reason",
             "Whoever ran them accepted the reason with --accept. Their numbers count like those of other runs.",
             accepted_rows(report));
}

}  // namespace aggregate_power
