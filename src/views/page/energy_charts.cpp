// Writes the elements around charts.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text/csv.h"
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

void append_row(std::string& out, const FigureTable& table, const std::vector<std::string>& cells,
                std::string_view element) {
  out += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += fmt::format("<{}{}>", element, i >= table.first_number ? " class=\"n\"" : "");
    append_html(out, cut_text(cells[i], kMostCellCharacters));
    out += fmt::format("</{}>", element);
  }
  out += "</tr>\n";
}

}  // namespace

std::string html_table(const FigureTable& table, std::string_view attributes) {
  std::string out = fmt::format("<div class=\"scroll\"><table{}><thead>\n", attributes);
  append_row(out, table, table.titles, "th");
  out += "</thead><tbody>\n";
  const std::size_t shown = std::min(table.rows.size(), kMostFigureRows);
  for (std::size_t i = 0; i < shown; ++i) append_row(out, table, table.rows[i], "td");
  out += "</tbody></table></div>\n";
  if (shown < table.rows.size()) {
    out += fmt::format("<p class=\"muted\">The first {} of {} rows; the CSV has all.</p>\n", shown,
                       table.rows.size());
  }
  return out;
}

std::string chart_figure(const std::vector<Chart>& charts, const FigureTable& table,
                         const std::string& id) {
  std::string out = fmt::format("<figure{}>\n", charts.size() > 1 ? " class=\"many\"" : "");
  out += "<div class=\"charts\">\n";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::string name = charts.size() > 1 ? fmt::format("{}-{}", id, i + 1) : id;
    out += fmt::format("<div class=\"scroll\">\n{}</div>\n",
                       svg(charts[i], {.id = name, .has_style = false}));
  }
  out += fmt::format("</div>\n<details><summary>Table ({} {})</summary>\n{}</details>\n",
                     table.rows.size(), table.rows.size() == 1 ? "row" : "rows",
                     html_table(table, ""));
  out += fmt::format("<p><a download=\"{}.csv\" href=\"{}\">CSV</a></p>\n</figure>\n", id,
                     html(data_link("text/csv", csv_of(table))));
  return out;
}

}  // namespace aggregate_power
