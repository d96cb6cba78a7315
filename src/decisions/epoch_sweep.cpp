// Groups the rows of a sweep's summary.
#include "decisions/epoch_sweep.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kMeasured[] = {"power_limit", "time_per_epoch", "average_power"};

struct EpochRow {
  double limit_w = 0;
  double time_s = 0;
  double power_w = 0;
};

std::vector<std::string> scenario_columns(const SweepTable& table,
                                          const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (table.column(key)) continue;
    throw Error(
        fmt::format("{}: --group-by: there is no column '{}'", printable_path(table.path), key));
  }
  if (!keys.empty()) return keys;
  std::vector<std::string> columns;
  for (const std::string& column : *table.columns) {
    if (std::ranges::find(kMeasured, column) == std::end(kMeasured)) columns.push_back(column);
  }
  return columns;
}

std::string epoch_scenario_name(const SweepTable& table, std::size_t row,
                                const std::vector<std::string>& columns) {
  std::string name;
  for (const std::string& column : columns) {
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", column, table.cell(row, column));
  }
  return name.empty() ? "(all rows)" : name;
}

LimitScenario scenario_of_epochs(const std::string& name, const std::vector<EpochRow>& rows) {
  LimitScenario scenario{.name = name, .gpus = 1};
  std::vector<double> limits;
  for (const EpochRow& row : rows) limits.push_back(row.limit_w);
  const std::vector<double> distinct = distinct_limits(std::move(limits));
  for (const double limit_w : distinct) scenario.groups.push_back({.limit_w = limit_w});
  for (const EpochRow& row : rows) {
    LimitGroup& group = scenario.groups[limit_index(distinct, row.limit_w)];
    ++group.n;
    group.pieces.push_back({row.time_s * row.power_w, row.time_s, 1});
  }
  for (LimitGroup& group : scenario.groups) {
    std::ranges::sort(group.pieces, {}, &LimitPiece::energy_j);
    double energy_j = 0;
    double time_s = 0;
    for (const LimitPiece& piece : group.pieces) {
      energy_j += piece.energy_j;
      time_s += *piece.time_s;
    }
    group.gpu_power_w = energy_j / time_s;
    group.why = limit_fault(group.limit_w, std::nullopt, group.gpu_power_w);
    if (!group.why.empty()) group.state = LimitState::limit_not_in_force;
  }
  return scenario;
}

}  // namespace

bool is_epoch_sweep(const SweepTable& table) {
  return has_columns(table, {"power_limit", "time_per_epoch", "average_power"});
}

std::vector<LimitScenario> scenarios_of_epochs(const SweepTable& table,
                                               const std::vector<std::string>& keys,
                                               const std::string& prefix, std::size_t& unusable) {
  const std::vector<std::string> columns = scenario_columns(table, keys);
  std::map<std::string, std::vector<EpochRow>> rows_of;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const EpochRow one{sweep_number(table.cell(row, "power_limit")),
                       sweep_number(table.cell(row, "time_per_epoch")),
                       sweep_number(table.cell(row, "average_power"))};
    if (one.limit_w > 0 && one.time_s > 0 && one.power_w > 0) {
      rows_of[epoch_scenario_name(table, row, columns)].push_back(one);
    } else {
      ++unusable;
    }
  }
  std::vector<LimitScenario> scenarios;
  for (const auto& [name, rows] : rows_of) {
    scenarios.push_back(scenario_of_epochs(prefix + name, rows));
  }
  return scenarios;
}

}  // namespace aggregate_power
