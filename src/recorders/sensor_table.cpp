// Reads tables of a node's sensors: a time, and columns of RAPL domains or of the node's power.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/csv.h"
#include "base/text/pattern.h"
#include "base/text/unicode.h"
#include "recorders/witness_form.h"

namespace aggregate_power {
namespace {

struct SensorColumn {
  std::size_t index = 0;
  std::string name = {};  // as the header has it
  NodeWitness::Kind kind = NodeWitness::Kind::power;
  double factor = 1;  // to J or W
  std::string source = "csv";
  std::string scope = "unknown";
};

struct SensorTable {
  std::size_t time = std::string::npos;
  std::size_t domain = std::string::npos;  // the sensor's name is in the row
  std::size_t range = std::string::npos;   // max_energy_range_uj of the row's sensor
  std::vector<SensorColumn> sensors;
};

// The unit at a name's end, and its factor to J or W.
struct NamedUnit {
  const char* pattern;
  NodeWitness::Kind kind;
  double factor;
};
constexpr NamedUnit kNamedUnits[] = {
    {".*[^a-z](uj|µj|microjoules?)[\\])]?", NodeWitness::Kind::counter, 1e-6},
    {".*[^a-z](mj|millijoules?)[\\])]?", NodeWitness::Kind::counter, 1e-3},
    {".*[^a-z](j|joules?)[\\])]?", NodeWitness::Kind::counter, 1},
    {".*[^a-z](uw|µw|microwatts?)[\\])]?", NodeWitness::Kind::power, 1e-6},
    {".*[^a-z](mw|milliwatts?)[\\])]?", NodeWitness::Kind::power, 1e-3},
    {".*[^a-z](w|watts?)[\\])]?", NodeWitness::Kind::power, 1}};

std::optional<SensorColumn> sensor_column(std::size_t index, const std::string& header) {
  static const Pattern rapl =
      "(intel-rapl|package|dram|core|uncore|psys|energy|domain)[-_: ]?[0-9:]*([^a-z0-9].*)?";
  static const Pattern bare = "(package|dram|core|uncore|psys)[-_ ]?[0-9]*|intel-rapl:[0-9:]+";
  static const Pattern node = "(sys|system|node|chassis|server|total system)[ _.-]*power.*";
  static const Pattern plain = "power[ _-]?(w|watts?|\\[w\\]|\\(w\\))";
  const std::string name = lower_ascii(header);
  const bool is_rapl = rapl.matches(name);
  const bool is_node = node.matches(name);
  if (!is_rapl && !is_node && !plain.matches(name)) return std::nullopt;
  SensorColumn column = {.index = index, .name = header};
  if (is_node) column.scope = "node";
  if (is_rapl) column.scope = scope_of_rapl(name);
  if (is_rapl) column.source = "rapl";
  for (const NamedUnit& unit : kNamedUnits) {
    if (!Pattern(unit.pattern).matches(name)) continue;
    column.kind = unit.kind;
    column.factor = unit.factor;
    return column;
  }
  if (!bare.matches(name)) return std::nullopt;
  column.kind = NodeWitness::Kind::counter;  // what energy_uj holds
  column.factor = 1e-6;
  return column;
}

SensorTable sensor_table(const std::vector<std::string>& header) {
  static const Pattern time =
      "(unix|epoch|timestamp|time|datetime|date[ _]?time|ts)([ _-]?(unix|utc|s|ms|us|ns))?";
  static const Pattern domain = "domain|zone|name|sensor";
  static const Pattern range = "max_energy_range_uj";
  SensorTable table;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name(strip(header[i]));
    const std::string lower = lower_ascii(name);
    if (range.matches(lower)) {
      table.range = i;
    } else if (domain.matches(lower)) {
      table.domain = i;
    } else if (table.time == std::string::npos && time.matches(lower)) {
      table.time = i;
    } else if (auto column = sensor_column(i, name)) {
      table.sensors.push_back(std::move(*column));
    }
  }
  return table;
}

bool is_usable(const SensorTable& table) {
  return table.time != std::string::npos && !table.sensors.empty();
}

// A name such as "energy_j" may be that of a GPU's counter.
bool is_rapl_counter(const SensorColumn& column) {
  const std::string name = lower_ascii(column.name);
  const bool is_named =
      column.scope != "unknown" || name == "energy_uj" || name.starts_with("intel-rapl");
  return column.source == "rapl" && column.kind == NodeWitness::Kind::counter && is_named;
}

class SensorRows {
 public:
  SensorRows(const WitnessText& file, const SensorTable& table, NodeWitnesses& found)
      : file_(file), times_(file), table_(table), found_(found) {}

  void take(const std::vector<std::string>& cells) {
    const auto cell = [&](std::size_t index) {
      return index < cells.size() ? std::string_view(cells[index]) : std::string_view();
    };
    const auto unix_s = times_.unix_s(cell(table_.time));
    if (!unix_s) return;
    const std::string_view domain = strip(cell(table_.domain));
    for (const SensorColumn& column : table_.sensors) {
      const std::string_view text = strip(cell(column.index));
      const auto number = sensor_number(text);
      if (!number) continue;
      refuse_other_unit(column, *number);
      NodeWitness& witness = witness_named(
          found_, domain.empty() ? std::string_view(column.name) : domain, column.kind);
      witness.source = column.source;
      witness.scope = domain.empty() ? column.scope : scope_of_rapl(domain);
      witness.readings.push_back({*unix_s, *number * column.factor});
      if (column.source != "rapl" || column.kind != NodeWitness::Kind::counter) continue;
      if (const auto range = sensor_number(cell(table_.range)); range && *range > 0) {
        witness.wraps_j = {*range / 1e6};
        witness.states_wrap = true;
      }
      assume_rapl_wraps(witness);
    }
  }

 private:
  // A counter of microjoules has whole numbers; "package-0" of another recorder may be a power.
  void refuse_other_unit(const SensorColumn& column, double number) const {
    if (column.kind != NodeWitness::Kind::counter || column.factor != 1e-6) return;
    if (number == std::floor(number)) return;
    throw Error(fmt::format(
        "{}: column '{}' has {}, which is not a whole number of microjoules: name its unit in the header, as in '{}_w'",
        printable_path(file_.path), printable(column.name), number, printable(column.name)));
  }

  const WitnessText& file_;
  WitnessTimes times_;
  const SensorTable& table_;
  NodeWitnesses& found_;
};

bool fits_sensor_table(std::string_view head) {
  try {
    const auto rows = split_csv(head, 1, true);
    return !rows.empty() && is_usable(sensor_table(rows[0].cells));
  } catch (const CsvError&) {
    return false;
  }
}

void read_sensor_table(const WitnessText& file, NodeWitnesses& found) {
  try {
    const auto rows = split_csv(file.text, std::string::npos, true);
    const SensorTable table = sensor_table(rows[0].cells);
    SensorRows reader(file, table, found);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      // A last number without a line break after it may be cut off.
      if (rows[i].terminated && rows[i].cells.size() <= rows[0].cells.size())
        reader.take(rows[i].cells);
    }
  } catch (const CsvError& error) {
    throw Error(fmt::format("{}: {}", printable_path(file.path), error.what()));
  }
}

}  // namespace

bool is_rapl_table(std::string_view head) {
  try {
    const auto rows = split_csv(head, 1, true);
    if (rows.empty()) return false;
    const SensorTable table = sensor_table(rows[0].cells);
    return is_usable(table) && std::ranges::any_of(table.sensors, is_rapl_counter);
  } catch (const CsvError&) {
    return false;
  }
}

const WitnessForm kSensorTableForm = {fits_sensor_table, read_sensor_table};

}  // namespace aggregate_power
