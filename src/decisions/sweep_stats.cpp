// Lays out the rows of a sweep as a CSV.
#include "decisions/sweep_stats.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/csv.h"

namespace aggregate_power {
namespace {

bool is_ratio_column(std::string_view name) {
  return std::ranges::find(kRatioColumns, name) != std::end(kRatioColumns);
}

// The sweep tool's columns, of the last two those that some row has; then all others, by name.
std::vector<std::string> stats_columns(const SweepRows& rows) {
  std::set<std::string> others;
  for (const SweepRow& row : rows.rows) others.insert(row.columns->begin(), row.columns->end());
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < std::size(kSweepColumns); ++i) {
    const std::string name(kSweepColumns[i]);
    const bool is_there = others.erase(name) > 0;
    if (is_there || i < kLeastSweepColumns) columns.push_back(name);
  }
  for (const std::string& name : others) {
    if (!name.empty() && !is_ratio_column(name)) columns.push_back(name);
  }
  return columns;
}

std::string ratio_text(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
}

std::string cell_of(const SweepRow& row, const std::string& column) {
  const auto found = std::ranges::find(*row.columns, column);
  if (found == row.columns->end()) return {};
  return row.cells[static_cast<std::size_t>(found - row.columns->begin())];
}

const JudgedLimit* judged_limit(const LimitChoice& choice, double limit_w) {
  const JudgedLimit* at = nullptr;
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.group.limit_w <= limit_w) at = &limit;
  }
  return at;
}

}  // namespace

std::string stats_csv(const SweepRows& rows, const LimitChoice& choice) {
  const std::vector<std::string> columns = stats_columns(rows);
  const bool has_total = have_total_power(rows);
  std::string text;
  for (const std::string& column : columns) text += spreadsheet_cell(column) + ",";
  text += fmt::format("{}\n", fmt::join(kRatioColumns, ","));
  for (const SweepRow& row : rows.rows) {
    for (const std::string& column : columns) text += spreadsheet_cell(cell_of(row, column)) + ",";
    const double power_w = has_total ? row.total_power_w : row.gpu_power_w;
    const JudgedLimit* const limit = judged_limit(choice, row.limit_w);
    const auto ratio =
        row.tokens_per_s > 0 ? std::optional(power_w / row.tokens_per_s) : std::nullopt;
    text += fmt::format(
        "{},{},{}\n", ratio_text(ratio),
        ratio_text(limit == nullptr ? std::nullopt : limit->group.mean_joules_per_token),
        ratio_text(limit == nullptr ? std::nullopt : limit->joules_per_token));
  }
  return text;
}

std::vector<std::string> write_stats(const std::string& folder,
                                     const std::vector<SweepRows>& scenarios,
                                     const std::vector<LimitChoice>& choices,
                                     const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<PendingFile>> files;
  for (const SweepRows& rows : scenarios) {
    const std::string path = join_path(folder, rows.scenario + "_stats.csv");
    for (const std::string& input : inputs) {
      if (!is_same_file(path, input)) continue;
      throw Error(fmt::format("{}: is an input: name another folder with --stats-out",
                              printable_path(path)));
    }
    paths.push_back(path);
  }
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto choice = std::ranges::find(choices, scenarios[i].scenario, &LimitChoice::scenario);
    files.push_back(
        std::make_unique<PendingFile>(paths[i], stats_csv(scenarios[i], *choice), true));
  }
  for (const auto& file : files) file->commit();
  return paths;
}

}  // namespace aggregate_power
