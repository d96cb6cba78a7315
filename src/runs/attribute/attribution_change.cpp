// Joins two attributions by name.
#include "runs/attribute/attribution_change.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/csv.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

Json read_attribution(const std::string& text, const std::string& path, const std::string& by) {
  Json json = Json::parse(text, nullptr, false);
  const bool is_attribution =
      json.is_object() && json.value("schema", Json()) == "aggregate-power/attribution-1" &&
      json.value("rows", Json()).is_array() && json.value("idle", Json()).is_object() &&
      json.value("by", Json()).is_string();
  if (!is_attribution) {
    throw Error(fmt::format("{}: it is not what 'attribute --format json' writes", path));
  }
  if (json["by"] != by) {
    throw Error(fmt::format("{}: it is an attribution by {}, and this one is by {}", path,
                            json["by"].get<std::string>(), by));
  }
  return json;
}

double number_in(const Json& row, const char* key, const std::string& path) {
  if (row.is_object() && row.contains(key) && row.at(key).is_number()) return row.at(key);
  throw Error(fmt::format("{}: a row lacks '{}'", path, key));
}

AttributionChange summed(const std::vector<AttributionChange>& changes, std::size_t from) {
  AttributionChange others{.name = "(others)", .is_here = true, .is_there = true};
  for (std::size_t i = from; i < changes.size(); ++i) {
    others.time_s += changes[i].time_s;
    others.energy_j += changes[i].energy_j;
    others.other_time_s += changes[i].other_time_s;
    others.other_energy_j += changes[i].other_energy_j;
  }
  return others;
}

std::vector<AttributionChange> top_changes(const std::vector<AttributionChange>& changes,
                                           std::optional<std::size_t> most) {
  if (!most || changes.size() <= *most) return changes;
  std::vector<AttributionChange> top(changes.begin(),
                                     changes.begin() + static_cast<std::ptrdiff_t>(*most));
  top.push_back(summed(changes, *most));
  return top;
}

}  // namespace

std::vector<AttributionChange> attribution_changes(const AttributionReport& report,
                                                   const std::string& other,
                                                   const std::string& path) {
  const Json json = read_attribution(other, path, report.by);
  std::map<std::string, AttributionChange> by_name;
  const auto add_here = [&](const AttributionRow& row) {
    AttributionChange& change = by_name[row.name];
    change.time_s += row.time_s;
    change.energy_j += row.energy_j;
    change.is_here = true;
  };
  for (const AttributionRow& row : report.rows) add_here(row);
  add_here(report.rest);
  const auto add_there = [&](const Json& row) {
    const std::string name = row.is_object() ? row.value("name", std::string()) : std::string();
    if (name == "(others)") {
      throw Error(fmt::format("{}: it has only the first rows: write it without --top", path));
    }
    AttributionChange& change = by_name[name];
    change.other_time_s += number_in(row, "time_s", path);
    change.other_energy_j += number_in(row, "energy_j", path);
    change.is_there = true;
  };
  for (const Json& row : json["rows"]) add_there(row);
  add_there(json["idle"]);
  std::vector<AttributionChange> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    changes.push_back(std::move(change));
  }
  std::ranges::stable_sort(changes, std::ranges::greater(), [](const AttributionChange& change) {
    return std::abs(change.change_j());
  });
  return changes;
}

std::string changes_table(const std::vector<AttributionChange>& changes,
                          std::optional<std::size_t> most, std::size_t width) {
  constexpr std::size_t kNumbers = 62;
  const std::size_t name_width = width > kNumbers + 23 ? width - kNumbers - 3 : 20;
  const TextTable table(
      "[change J >+12.4f] [other J >12.4f] [this J >12.4f] [other s >10.6f] [this s >10.6f]  [name <]");
  std::vector<AttributionChange> rows = top_changes(changes, most);
  rows.push_back(summed(changes, 0));
  rows.back().name = "(all)";
  std::string text = table.head();
  for (const AttributionChange& row : rows) {
    table.add({row.change_j(), row.other_energy_j, row.energy_j, row.other_time_s, row.time_s,
               printable(row.name, name_width)},
              text);
  }
  return text;
}

std::string changes_csv(const std::vector<AttributionChange>& changes,
                        std::optional<std::size_t> most) {
  std::string text = "name,change_j,other_energy_j,energy_j,other_time_s,time_s\n";
  for (const AttributionChange& change : top_changes(changes, most)) {
    text += fmt::format("{},{},{},{},{},{}\n", spreadsheet_cell(change.name), change.change_j(),
                        change.other_energy_j, change.energy_j, change.other_time_s, change.time_s);
  }
  return text;
}

std::string changes_json(const AttributionReport& report,
                         const std::vector<AttributionChange>& changes, const std::string& path,
                         std::optional<std::size_t> most) {
  Json json = {{"schema", "aggregate-power/attribution-change-1"},
               {"by", report.by},
               {"traces", report.traces},
               {"other", path},
               {"changes", Json::array()}};
  for (const AttributionChange& change : top_changes(changes, most)) {
    json["changes"].push_back({{"name", change.name},
                               {"change_j", change.change_j()},
                               {"other_energy_j", change.other_energy_j},
                               {"energy_j", change.energy_j},
                               {"other_time_s", change.other_time_s},
                               {"time_s", change.time_s},
                               {"in_other", change.is_there},
                               {"in_this", change.is_here}});
  }
  return indented_lines(json);
}

}  // namespace aggregate_power
