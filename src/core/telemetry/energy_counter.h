// Finds the cumulative energy counters of GPUs in recordings, and parses their numbers.
//
// A counter measures only if its unit is certain: it is stated beside its name, or the recorder's
// documentation states it. Otherwise it is compared with the power, which shows the unit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "aggregate_power/record_facts.h"

namespace aggregate_power {

// The counter of a metric of DCGM and other exporters; null: it is another metric.
const EnergyCounter* counter_metric(std::string_view metric);

struct EnergyUnit {
  std::string_view name;    // in a column's name
  std::string_view symbol;  // as it is shown
  double joules;
};

// The unit `text` of a column with this name. Capitals tell mJ from MJ, unless all letters of the
// name are capitals: then MJ is no unit.
std::optional<EnergyUnit> energy_unit(std::string_view text, std::string_view name);

// The counter in a CSV.
struct CounterColumn {
  EnergyCounter counter;
  std::size_t index = 0;
  std::optional<std::size_t> resolution = {};  // a column whose number multiplies the counter's
};

// The column of `header` that is a counter, by its name and by the schema (Columns::schema). A name
// without a unit counts if the cell of the first row states it; else its unit is unknown. Returns
// nullopt if there is none, or if several fit.
std::optional<CounterColumn> choose_counter_column(std::span<const std::string> header,
                                                   std::string_view schema,
                                                   std::span<const std::string> first_row = {});

// The same of a text, which may state its unit if that is the same: "1234.5 mJ". Returns nullopt
// for any other text, for negative numbers, and for those by which tools mean "none" (formats.md
// section 7).
std::optional<double> parse_counter(std::string_view text, double unit_j);

}  // namespace aggregate_power
