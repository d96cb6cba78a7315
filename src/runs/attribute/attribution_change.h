// Two attributions beside each other, by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runs/attribute/report.h"

namespace aggregate_power {

// What one name used in both; a side is 0 where the name is missing.
struct AttributionChange {
  std::string name;
  double time_s = 0;
  double energy_j = 0;
  double other_time_s = 0;
  double other_energy_j = 0;
  bool is_here = false;
  bool is_there = false;

  double change_j() const { return energy_j - other_energy_j; }
};

// `other` is what attribution_json() wrote, with all rows, of the file `path`. The largest changes
// of energy come first. Throws Error if it is something else, or by something else.
std::vector<AttributionChange> attribution_changes(const AttributionReport& report,
                                                   const std::string& other,
                                                   const std::string& path);

std::string changes_table(const std::vector<AttributionChange>& changes,
                          std::optional<std::size_t> most, std::size_t width);
std::string changes_csv(const std::vector<AttributionChange>& changes,
                        std::optional<std::size_t> most);
std::string changes_json(const AttributionReport& report,
                         const std::vector<AttributionChange>& changes, const std::string& path,
                         std::optional<std::size_t> most);

}  // namespace aggregate_power
