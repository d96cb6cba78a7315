// A table with lines before and after it, for a terminal or as Markdown.
#include <algorithm>

#include <fmt/format.h>

#include "base/text/wrap.h"
#include "decide/compare/compare_parts.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kReportColumns = 100;

std::vector<std::size_t> report_widths(const TabularReport& report) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    std::size_t width = columns(report.columns[i].title);
    for (const auto& row : report.rows) width = std::max(width, columns(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::string report_padding(std::size_t width, const std::string& text) {
  return std::string(width - std::min(width, columns(text)), ' ');
}

// The last column is a word: numbers end where their column does, words begin there.
std::string report_row(const std::vector<std::string>& cells,
                       const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == 0) {
      line += cells[i] + (cells.size() > 1 ? report_padding(widths[i], cells[i]) : "");
    } else if (i + 1 == cells.size()) {
      line += "  " + cells[i];
    } else {
      line += "  " + report_padding(widths[i], cells[i]) + cells[i];
    }
  }
  return line + '\n';
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

}  // namespace

std::string as_plain_table(const TabularReport& report) {
  const std::vector<std::size_t> widths = report_widths(report);
  std::string text = report.heading + '\n';
  for (const std::string& line : report.before) text += wrapped(line, "", 2, kReportColumns);
  std::vector<std::string> titles;
  for (const ReportColumn& column : report.columns) titles.push_back(column.title);
  text += '\n' + report_row(titles, widths);
  for (const auto& row : report.rows) text += report_row(row, widths);
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

}  // namespace aggregate_power
