// The names of energy counters, and their units.
#include "core/telemetry/energy_counter.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"

namespace aggregate_power {
namespace {

// all-smi's all_smi_energy_consumed_joules_total is missing: it is an integral of the same power.
const EnergyCounter kCounterMetrics[] = {
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mJ", 1e-3},
    {"nvidia_smi_energy_joules_total", "J", 1},
    {"gpu_energy_consumed", "uJ", 1e-6},
    {"xpum_energy_joules", "J", 1},
    {"kepler_node_gpu_joules_total", "J", 1},
    {"TOTEC", "mJ", 1e-3},
};

constexpr EnergyUnit kEnergyUnits[] = {
    {"J", "J", 1},
    {"j", "J", 1},
    {"joule", "joule", 1},
    {"joules", "joules", 1},
    {"mJ", "mJ", 1e-3},
    {"mj", "mJ", 1e-3},
    {"uJ", "uJ", 1e-6},
    {"uj", "uJ", 1e-6},
    {"\u00B5J", "\u00B5J", 1e-6},
    {"\u03BCJ", "\u03BCJ", 1e-6},
    {"millijoules", "millijoules", 1e-3},
    {"microjoules", "microjoules", 1e-6},
    {"kilojoules", "kilojoules", 1e3},
    {"kJ", "kJ", 1e3},
    {"kj", "kJ", 1e3},
    {"MJ", "MJ", 1e6},
    {"mWh", "mWh", 3.6},
    {"mwh", "mWh", 3.6},
    {"Wh", "Wh", 3600},
    {"wh", "Wh", 3600},
    {"kWh", "kWh", 3.6e6},
    {"kwh", "kWh", 3.6e6},
};

struct CounterName {
  std::size_t index;
  std::string full;
  std::string plain;  // in lower case, without its unit
  std::optional<EnergyUnit> unit;
};

CounterName read_counter_name(std::size_t index, std::string_view text) {
  CounterName name{index, std::string(strip(text)), {}, {}};
  std::string_view plain = name.full;
  const char open = plain.ends_with(']') ? '[' : '(';
  const bool has_brackets = plain.ends_with(']') || plain.ends_with(')');
  const std::size_t at = has_brackets ? plain.rfind(open) : plain.find_last_of(" ._-");
  if (at != plain.npos) {
    const std::string_view before = strip(plain.substr(0, at));
    const std::string_view last = plain.substr(at + 1);
    name.unit = energy_unit(strip(has_brackets ? last.substr(0, last.size() - 1) : last), before);
    if (name.unit) plain = before;
  }
  name.plain = lower_ascii(plain);
  return name;
}

// Each name once; the last column of a name counts.
std::vector<CounterName> read_counter_names(std::span<const std::string> header) {
  std::vector<CounterName> names;
  std::set<std::string> seen;  // of several columns with one name, the last counts
  for (std::size_t i = header.size(); i-- > 0;) {
    CounterName name = read_counter_name(i, replace_invalid_utf8(header[i]));
    if (seen.insert(name.full).second) names.push_back(std::move(name));
  }
  std::ranges::reverse(names);
  return names;
}

// The only one that fits; null if there is none or if there are several.
template <typename Fits>
const CounterName* only_one(const std::vector<CounterName>& names, const Fits& fits) {
  const auto found = std::ranges::find_if(names, fits);
  if (found == names.end() || std::any_of(found + 1, names.end(), fits)) return nullptr;
  return &*found;
}

// The digits of "1234.5 mJ", and its unit.
struct CounterCell {
  std::string_view number;
  std::string_view unit;
};

CounterCell split_counter(std::string_view text) {
  const std::size_t end = text.find_last_of("0123456789.") + 1;  // 0: there are none
  return {text.substr(0, end), strip(text.substr(end))};
}

std::optional<EnergyUnit> unit_of_cell(std::span<const std::string> row, std::size_t index) {
  if (index >= row.size()) return std::nullopt;
  const CounterCell cell = split_counter(strip(row[index]));
  return cell.number.empty() ? std::nullopt : energy_unit(cell.unit, "cell");
}

CounterColumn counter_column(const CounterName& name, const EnergyUnit& unit) {
  return {{name.full, std::string(unit.symbol), unit.joules}, name.index};
}

// A counter by its name alone. A bare "energy" may be of one sample only.
std::optional<CounterColumn> counter_of_unknown_unit(const std::vector<CounterName>& names) {
  static constexpr Pattern sum =
      "(gpu[ ._-]?)?((total|accumulated|cumulative)[ ._-]?energy|energy[ ._-]?(counter|accumulator"
      "|total|consumption|consumed|used|accumulated))([ ._-]?(counter|total|consumption|consumed"
      "|used|accumulated))*";
  const auto is_sum = [&](const CounterName& name) {
    return !name.unit && sum.matches(name.plain);
  };
  const CounterName* const name = only_one(names, is_sum);
  if (name == nullptr) return std::nullopt;
  return CounterColumn{{name->full, "unknown", 1, false}, name->index};
}

// The joules of a counter's number; NaN for negative numbers, and for those by which tools mean
// "none" (formats.md section 7).
double joules_of_count(double count, double unit_j) {
  constexpr double kFirstNone = 2147483632.0;
  if (count >= 0 && count < kFirstNone) return count * unit_j;
  constexpr double kNone[] = {kFirstNone,        2147483633.0,      2147483634.0,
                              2147483635.0,      4294967295.0,      140737488355328.0,
                              140737488355329.0, 140737488355330.0, 140737488355331.0};
  constexpr double kFirstBlank64 = 9223372036854775792.0;
  const bool is_count =
      count >= 0 && count < kFirstBlank64 && std::ranges::find(kNone, count) == std::end(kNone);
  return is_count ? count * unit_j : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::optional<EnergyUnit> energy_unit(std::string_view text, std::string_view name) {
  std::string unit(text);
  if (lower_ascii(unit).starts_with("joule")) unit = lower_ascii(unit);
  const auto* const found = std::ranges::find(kEnergyUnits, unit, &EnergyUnit::name);
  if (found == std::end(kEnergyUnits)) return std::nullopt;
  const bool has_small_letters =
      std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  if (unit == "MJ" && !has_small_letters) return std::nullopt;
  return *found;
}

const EnergyCounter* counter_metric(std::string_view metric) {
  const auto* const found = std::ranges::find(kCounterMetrics, metric, &EnergyCounter::name);
  return found == std::end(kCounterMetrics) ? nullptr : found;
}

std::optional<CounterColumn> choose_counter_column(std::span<const std::string> header,
                                                   std::string_view schema,
                                                   std::span<const std::string> first_row) {
  static constexpr Pattern by_unit =
      "(gpu[ ._-]?)?((total|accumulated|cumulative)[ ._-]?)?energy"
      "([ ._-]?(counter|total|consumption|consumed|used|accumulated))*";
  static constexpr Pattern resolution =
      "accumulator_resolution|counter_resolution|energy_resolution"
      "|energy_accumulator_resolution|energy_counter_resolution";
  std::vector<CounterName> names = read_counter_names(header);
  for (CounterName& name : names) {
    if (!name.unit) name.unit = unit_of_cell(first_row, name.index);
    if (const EnergyCounter* const metric = counter_metric(name.full)) {
      return CounterColumn{*metric, name.index};
    }
  }
  const bool is_amd_smi = schema == "amd-smi" || schema == "amd-smi-monitor";
  const auto fits = [&](const CounterName& name) {
    return name.unit ? by_unit.matches(name.plain)
                     : is_amd_smi && name.plain == "total_energy_consumption";
  };
  if (const CounterName* const name = only_one(names, fits)) {
    return counter_column(*name, name->unit.value_or(EnergyUnit{"J", "J", 1}));
  }
  const auto* const accumulator =
      only_one(names, [](const CounterName& name) { return name.plain == "energy_accumulator"; });
  const auto* const factor =
      only_one(names, [&](const CounterName& name) { return resolution.matches(name.plain); });
  if (accumulator == nullptr || factor == nullptr) {
    const bool may_be_stated = std::ranges::any_of(names, fits);  // several are
    return may_be_stated ? std::nullopt : counter_of_unknown_unit(names);
  }
  CounterColumn column = counter_column(*accumulator, {"", "resolution in uJ", 1e-6});
  column.resolution = factor->index;
  return column;
}

std::optional<double> parse_counter(std::string_view text, double unit_j) {
  const CounterCell cell = split_counter(text);
  if (!cell.unit.empty()) {
    const auto unit = energy_unit(cell.unit, "cell");
    if (!unit || unit->joules != unit_j) return std::nullopt;
  }
  double decimal = 0;
  const std::optional<double> count =
      read_whole_decimal(cell.number, decimal) ? decimal : nearest_double(cell.number);
  const double joules = count ? joules_of_count(*count, unit_j) : -1;
  return joules >= 0 ? std::optional(joules) : std::nullopt;
}

}  // namespace aggregate_power
