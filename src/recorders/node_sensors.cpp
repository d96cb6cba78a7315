// Recognizes the form of a file, and makes names unique.
#include "recorders/node_sensors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/pattern.h"
#include "base/text/show_time.h"
#include "core/telemetry/energy_counter.h"
#include "recorders/exposition.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWitnessBytes = std::size_t{512} << 20;

// More special forms first.
constexpr std::array<const WitnessForm*, 12> kWitnessForms = {
    &kQueriedMetersForm, &kPtdForm,        &kMllogForm,       &kJsonMeterForm,
    &kPduForm,           &kSacctForm,      &kDcmiForm,        &kPmCountersForm,
    &kSensorFilesForm,   &kMeterTableForm, &kSensorTableForm, &kScrapedMetersForm};
// These may hold a recording of GPUs as well.
constexpr std::array<const WitnessForm*, 4> kFormsOfAnything = {
    &kQueriedMetersForm, &kMeterTableForm, &kSensorTableForm, &kScrapedMetersForm};

std::string witness_text(const std::string& path) {
  const auto source = as_utf8(decompressed(open_source(path), path));
  std::string text = read_up_to(*source, kMostWitnessBytes + 1);
  if (text.size() > kMostWitnessBytes) {
    throw Error(fmt::format("{}: more than 512 MiB: divide the file", printable_path(path)));
  }
  return text;
}

// Each file is the log of one counter, or one scrape.
NodeWitnesses read_sensor_folder(const std::string& folder, const std::optional<Zone>& zone) {
  if (const std::vector<Scrape> scrapes = scrapes_in(folder); !scrapes.empty()) {
    const auto source = scrapes_source(scrapes);
    return read_node_witnesses(read_up_to(*source, kMostWitnessBytes), folder, zone);
  }
  NodeWitnesses found;
  for (const TreeEntry& entry : sorted_entries(*disk_tree(), folder)) {
    if (entry.kind != TreeEntry::Kind::file) continue;
    const std::string path = join_path(folder, entry.name);
    const std::string text = witness_text(path);
    if (kPmCountersForm.fits(std::string_view(text).substr(0, kHeadBytes))) {
      kPmCountersForm.read({text, path, zone}, found);
    }
  }
  if (found.witnesses.empty()) {
    throw Error(fmt::format(
        "{}: no file in it has readings of /sys/cray/pm_counters, as in '12345 J 1777118400000000 us'",
        printable_path(folder)));
  }
  return found;
}

// Two sensors have two values at one time.
void refuse_two_values(const NodeWitness& witness, const std::string& path) {
  std::vector<NodeWitness::Reading> readings = witness.readings;
  std::ranges::stable_sort(readings, {}, &NodeWitness::Reading::unix_s);
  const auto first = std::ranges::adjacent_find(readings, [](const auto& a, const auto& b) {
    return a.unix_s == b.unix_s && a.value != b.value;
  });
  if (first == readings.end()) return;
  throw Error(fmt::format(
      "{}: '{}' has two values at one time, {}: {} and {}, as of two sensors with one name: log each sensor into a file of its own, and times to the millisecond",
      printable_path(path), printable(witness.name), unix_and_iso(first->unix_s), first->value,
      std::next(first)->value));
}

}  // namespace

NodeWitnesses read_node_witnesses(std::string_view text, const std::string& path,
                                  const std::optional<Zone>& zone) {
  const std::string_view head = text.substr(0, kHeadBytes);
  const auto* const form = std::ranges::find_if(
      kWitnessForms, [&](const WitnessForm* candidate) { return candidate->fits(head); });
  if (form == kWitnessForms.end()) {
    throw Error(fmt::format(
        "{}: it has no form of a node's sensors that is known: see 'aggregate-power help windows'{}",
        printable_path(path), what_a_table_needs(head)));
  }
  NodeWitnesses found;
  (*form)->read({text, path, zone}, found);
  found.places = {};  // witnesses may have other names now
  std::erase_if(found.witnesses, [](const NodeWitness& witness) {
    return witness.kind != NodeWitness::Kind::total && witness.readings.empty();
  });
  if (found.witnesses.empty()) {
    throw Error(fmt::format(
        "{}: it has no reading with a time of a node's sensor that is known: see 'aggregate-power help windows'",
        printable_path(path)));
  }
  for (const NodeWitness& witness : found.witnesses) {
    if (!(*form)->may_repeat_stamps) refuse_two_values(witness, path);
  }
  return found;
}

NodeWitnesses read_node_witnesses(const std::string& path, const std::optional<Zone>& zone) {
  if (disk_tree()->has_folder(path)) return read_sensor_folder(path, zone);
  return read_node_witnesses(witness_text(path), path, zone);
}

bool is_sensor_log(std::string_view head) {
  return std::ranges::any_of(kWitnessForms, [&](const WitnessForm* form) {
    return std::ranges::find(kFormsOfAnything, form) == kFormsOfAnything.end() && form->fits(head);
  });
}

// ---- What the forms share

WitnessTimes::WitnessTimes(const WitnessText& file)
    : path_(file.path), has_zone_(file.zone), stamps_(file.zone ? *file.zone : Zone::fixed(0)) {}

std::optional<double> WitnessTimes::unix_s(std::string_view text) {
  const auto stamp = stamps_.parse(strip(text));
  if (!stamp || stamp->unix_s < kFirstAbsoluteUnixS) return std::nullopt;
  if (stamp->naive && !has_zone_) {
    throw Error(fmt::format("{}: '{}' has no offset from UTC: name the zone with --timezone",
                            printable_path(path_), printable(strip(text))));
  }
  return stamp->unix_s;
}

std::optional<double> sensor_number(std::string_view text) {
  const auto number = nearest_double(strip(text));
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

void for_each_witness_line(
    std::string_view text,
    const std::function<void(std::string_view line, std::size_t number)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(strip(text.substr(0, end)), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool any_witness_line(std::string_view text,
                      const std::function<bool(std::string_view line)>& is_one) {
  bool is_found = false;
  for_each_witness_line(
      text, [&](std::string_view line, std::size_t) { is_found = is_found || is_one(line); });
  return is_found;
}

std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

NodeWitness& witness_named(NodeWitnesses& found, std::string_view name, NodeWitness::Kind kind) {
  constexpr std::size_t kMostWitnesses = 4096;
  auto& places = found.places[static_cast<std::size_t>(kind)];
  if (const auto known = places.find(name); known != places.end()) {
    return found.witnesses[known->second];
  }
  if (found.witnesses.size() == kMostWitnesses) {
    throw Error(fmt::format("more than {} sensors in one file", kMostWitnesses));
  }
  places.emplace(name, found.witnesses.size());
  found.witnesses.push_back({.name = std::string(name), .kind = kind});
  return found.witnesses.back();
}

std::string scope_of_rapl(std::string_view domain) {
  const std::string name = lower_ascii(domain);
  if (name.find("dram") != name.npos) return "memory";
  if (name.find("package") != name.npos || name.find("pkg") != name.npos) return "cpu";
  return name.find("core") != name.npos ? "rail" : "unknown";
}

void assume_rapl_wraps(NodeWitness& witness) {
  if (witness.states_wrap) return;
  // 2^32 units of energy: of Zen, of the memory of servers, and of other processors.
  witness.wraps_j = {65532.610987, 65712.999613, 262143.32885};
}

// ---- Reads tables of a node's sensors: a time, and columns of RAPL domains or of the node's
// power.

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
  std::size_t host = std::string::npos;
  std::size_t socket = std::string::npos;
  std::size_t range = std::string::npos;  // max_energy_range_uj of the row's sensor
  std::size_t cells = 0;
  std::vector<SensorColumn> sensors;
};

struct SensorUnit {
  NodeWitness::Kind kind;
  double factor;  // to J or W
};

struct WattUnit {
  std::string_view name;
  double watts;
};
constexpr WattUnit kWattUnits[] = {
    {"W", 1},     {"w", 1},          {"mW", 1e-3},      {"mw", 1e-3},      {"kW", 1e3},
    {"kw", 1e3},  {"KW", 1e3},       {"MW", 1e6},       {"uW", 1e-6},      {"uw", 1e-6},
    {"UW", 1e-6}, {"\u00B5W", 1e-6}, {"\u00B5w", 1e-6}, {"\u03BCW", 1e-6}, {"\u03BCw", 1e-6}};

// "microjoules" as "uJ", "Watts" as "W".
std::string unit_symbol_of(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"micro", "u"}, {"milli", "m"}, {"kilo", "k"}, {"mega", "M"}, {"", ""}};
  const std::string lower = lower_ascii(unit);
  for (const auto& [word, symbol] : kPrefixes) {
    if (!lower.starts_with(word)) continue;
    const std::string_view base = std::string_view(lower).substr(word.size());
    if (base == "joule" || base == "joules") return fmt::format("{}J", symbol);
    if (base == "watt" || base == "watts") return fmt::format("{}W", symbol);
  }
  return unit == "UJ" || unit == "\u00B5j" ? "uJ" : std::string(unit);
}

// The unit at a name's end. As in energy_unit(), MW and MJ are none if all letters are capitals.
std::optional<SensorUnit> sensor_unit(std::string_view name) {
  if (name.ends_with(']') || name.ends_with(')')) name.remove_suffix(1);
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 128;
  };
  std::size_t begin = name.size();
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  if (begin == 0) return std::nullopt;
  const std::string_view before = name.substr(0, begin);
  const std::string unit = unit_symbol_of(name.substr(begin));
  if (const auto energy = energy_unit(unit, before)) {
    return SensorUnit{NodeWitness::Kind::counter, energy->joules};
  }
  const auto* const power = std::ranges::find(kWattUnits, unit, &WattUnit::name);
  const bool has_small_letters =
      std::ranges::any_of(before, [](char c) { return c >= 'a' && c <= 'z'; });
  if (power == std::end(kWattUnits) || (unit == "MW" && !has_small_letters)) return std::nullopt;
  return SensorUnit{NodeWitness::Kind::power, power->watts};
}

std::optional<SensorColumn> sensor_column(std::size_t index, const std::string& header) {
  static constexpr Pattern rapl =
      "(intel-rapl|package|dram|core|uncore|psys|energy|domain)[-_: ]?[0-9:]*([^a-z0-9].*)?";
  static constexpr Pattern of_cpu = "cpu[-_ ]?(package|pkg|dram)[-_: ]?[0-9:]*([^a-z0-9].*)?";
  static constexpr Pattern bare = "(package|dram|core|uncore|psys)[-_ ]?[0-9]*|intel-rapl:[0-9:]+";
  static constexpr Pattern node =
      "(sys|system|node|chassis|server|total system|wall|pdu)[ _.-]*power.*";
  static constexpr Pattern supply =
      "(psu|power[ _]?supply|outlet|feed)[ _.-]*[0-9a-z]?[ _.-]*(input[ _.-]*)?power.*";
  static constexpr Pattern limit = ".*(limit|cap|rated|budget|threshold).*";
  static constexpr Pattern plain = "power[ _-]?([mk]?w|watts?|\\[[mk]?w\\]|\\([mk]?w\\))";
  const std::string name = lower_ascii(header);
  const bool is_rapl = rapl.matches(name) || of_cpu.matches(name);
  const bool is_node = node.matches(name);
  const bool is_power = is_node || supply.matches(name) || plain.matches(name);
  if ((!is_rapl && !is_power) || limit.matches(name)) return std::nullopt;
  SensorColumn column = {.index = index, .name = header};
  if (is_node) column.scope = "node";
  if (is_rapl) column.scope = scope_of_rapl(name);
  if (is_rapl) column.source = "rapl";
  if (const auto unit = sensor_unit(header)) {
    column.kind = unit->kind;
    column.factor = unit->factor;
    return column;
  }
  if (!bare.matches(name)) return std::nullopt;
  column.kind = NodeWitness::Kind::counter;  // what energy_uj holds
  column.factor = 1e-6;
  return column;
}

SensorTable sensor_table(const std::vector<std::string>& header) {
  static constexpr Pattern time =
      "(unix|epoch|timestamp|time|datetime|date[ _]?time|ts)([ _-]?(unix|utc|s|ms|us|ns))?";
  static constexpr Pattern domain = "domain|zone|name|sensor";
  static constexpr Pattern host = "host|host[ _]?name|node|node[ _]?name|instance";
  static constexpr Pattern socket = "(socket|cpu[ _]?socket)([ _]?id)?";
  static constexpr Pattern range = "max_energy_range_uj";
  SensorTable table;
  table.cells = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name(strip(header[i]));
    const std::string lower = lower_ascii(name);
    if (range.matches(lower)) {
      table.range = i;
    } else if (domain.matches(lower)) {
      table.domain = i;
    } else if (host.matches(lower)) {
      table.host = i;
    } else if (socket.matches(lower)) {
      table.socket = i;
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

// What makes a sensor of a table another one.
struct SensorKey {
  std::string host;
  std::string socket;
  std::string domain;
  std::string column;

  std::string joined() const { return fmt::format("{}\n{}\n{}\n{}", host, socket, domain, column); }
};

class SensorRows {
 public:
  SensorRows(const WitnessText& file, NodeWitnesses& found)
      : file_(file), times_(file), found_(found) {}

  // Rows count from 1.
  void take(const std::vector<std::string>& cells, std::uint32_t row) {
    if (row == 1) {
      table_ = sensor_table(cells);
      return;
    }
    const auto unix_s = times_.unix_s(cell(cells, table_.time));
    if (!unix_s) {
      take_header(cells, row);
    } else if (cells.size() <= table_.cells) {
      for (const SensorColumn& column : table_.sensors) take_cell(cells, *unix_s, column, row);
    }
  }

  // Refuses readings that one name cannot have, and names the sensors.
  void finish() {
    for (std::size_t i = 0; i < keys_.size(); ++i) refuse_contradictions(i);
    const auto differ = [&](std::string SensorKey::*part) {
      return std::ranges::any_of(keys_,
                                 [&](const SensorKey& key) { return key.*part != keys_[0].*part; });
    };
    const bool has_sockets = differ(&SensorKey::socket);
    const bool has_columns = differ(&SensorKey::column);
    found_.has_several_hosts = differ(&SensorKey::host);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const SensorKey& key = keys_[i];
      std::string name = found_.has_several_hosts ? key.host + ":" : "";
      if (has_sockets) name += fmt::format("socket {} ", key.socket);
      name += key.domain.empty() ? key.column : key.domain;
      if (has_columns && !key.domain.empty()) name += " " + key.column;
      found_.witnesses[i].name = std::move(name);
    }
  }

 private:
  static std::string_view cell(const std::vector<std::string>& cells, std::size_t index) {
    return index < cells.size() ? strip(cells[index]) : std::string_view();
  }

  // A recorder that started again writes another header. Rows of something else are not read.
  void take_header(const std::vector<std::string>& cells, std::uint32_t row) {
    const auto is_number = [](const std::string& text) { return sensor_number(text).has_value(); };
    if (std::ranges::any_of(cells, is_number)) return;
    SensorTable next = sensor_table(cells);
    if (next.time == std::string::npos && next.sensors.empty()) return;
    if (!is_usable(next)) {
      refuse(row, "it is another header, without a time or a sensor: divide the file there");
    }
    table_ = std::move(next);
  }

  void take_cell(const std::vector<std::string>& cells, double unix_s, const SensorColumn& column,
                 std::uint32_t row) {
    const auto number = sensor_number(cell(cells, column.index));
    if (!number) return;
    refuse_other_unit(column, *number);
    SensorKey key{std::string(cell(cells, table_.host)), std::string(cell(cells, table_.socket)),
                  std::string(cell(cells, table_.domain)), column.name};
    NodeWitness& witness = witness_named(found_, key.joined(), column.kind);
    const auto place = static_cast<std::size_t>(&witness - found_.witnesses.data());
    if (place == keys_.size()) {
      witness.source = column.source;
      witness.scope = key.domain.empty() ? column.scope : scope_of_rapl(key.domain);
      if (witness.scope == "unknown" && column.source == "rapl") witness.scope = column.scope;
      keys_.push_back(std::move(key));
      rows_.emplace_back();
    }
    witness.readings.push_back({unix_s, *number * column.factor});
    rows_[place].push_back(row);
    if (column.source != "rapl" || column.kind != NodeWitness::Kind::counter) return;
    if (const auto range = sensor_number(cell(cells, table_.range)); range && *range > 0) {
      witness.wraps_j = {*range / 1e6};
      witness.states_wrap = true;
    }
    assume_rapl_wraps(witness);
  }

  // A counter of microjoules has whole numbers; "package-0" of another recorder may be a power.
  void refuse_other_unit(const SensorColumn& column, double number) const {
    if (column.kind != NodeWitness::Kind::counter || column.factor != 1e-6) return;
    if (number == std::floor(number)) return;
    throw Error(fmt::format(
        "{}: column '{}' has {}, which is not a whole number of microjoules: name its unit in the header, as in '{}_w'",
        printable_path(file_.path), printable(column.name), number, printable(column.name)));
  }

  // Two values at one time are those of two sensors.
  void refuse_contradictions(std::size_t place) const {
    const std::vector<NodeWitness::Reading>& readings = found_.witnesses[place].readings;
    std::vector<std::uint32_t> order(readings.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return readings[i].unix_s; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const NodeWitness::Reading& first = readings[order[i - 1]];
      const NodeWitness::Reading& second = readings[order[i]];
      if (first.unix_s != second.unix_s || first.value == second.value) continue;
      refuse(
          rows_[place][order[i]],
          fmt::format(
              "'{}' has another value than in row {} at the same time: a column that tells sensors apart must be named host, socket, domain or sensor",
              printable(keys_[place].column), rows_[place][order[i - 1]]));
    }
  }

  [[noreturn]] void refuse(std::uint32_t row, const std::string& what) const {
    throw Error(fmt::format("{}: row {}: {}", printable_path(file_.path), row, what));
  }

  const WitnessText& file_;
  WitnessTimes times_;
  NodeWitnesses& found_;
  SensorTable table_;
  // In the order of found_.witnesses.
  std::vector<SensorKey> keys_;
  std::vector<std::vector<std::uint32_t>> rows_;  // of the readings
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
  constexpr std::size_t kRowsAtOnce = 4096;
  SensorRows reader(file, found);
  std::uint32_t number = 0;
  try {
    for (std::size_t at = 0; at < file.text.size();) {
      const auto rows = split_csv(file.text.substr(at), kRowsAtOnce, true);
      if (rows.empty()) break;
      for (const CsvTextRow& row : rows) {
        ++number;
        // A last number without a line break after it may be cut off.
        if (row.terminated) reader.take(row.cells, number);
      }
      at += rows.back().end;
    }
  } catch (const CsvError& error) {
    throw Error(fmt::format("{}: {}", printable_path(file.path), error.what()));
  }
  reader.finish();
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

std::string what_a_table_needs(std::string_view head) {
  constexpr std::size_t kMostShown = 12;
  if (strip(head).starts_with('{') || strip(head).starts_with('[')) {
    return ". It is JSON, of which the logs of Redfish, Shelly and Tasmota and the answers of Prometheus are read: write other readings as a table";
  }
  try {
    const auto rows = split_csv(head, 1, true);
    if (rows.empty() || rows[0].cells.size() < 2) return {};
    std::string columns;
    for (std::size_t i = 0; i < std::min(rows[0].cells.size(), kMostShown); ++i) {
      columns += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(strip(rows[0].cells[i])));
    }
    if (rows[0].cells.size() > kMostShown) {
      columns += fmt::format(" and {} more", rows[0].cells.size() - kMostShown);
    }
    return fmt::format(
        ". Its columns are {}. A table needs a time, such as timestamp or time, and a sensor with its unit, such as node_power_w, sys_power_kw, package-0_w or energy_uj; units are W, mW, uW, kW, MW, J, mJ, uJ, kJ and MJ",
        columns);
  } catch (const CsvError&) {
    return {};
  }
}

const WitnessForm kSensorTableForm = {fits_sensor_table, read_sensor_table};

// ---- Adds up the meters of one node, such as its power supplies, wherever all of them measure.
namespace {

constexpr double kMostApartS = 10;    // readings between which a value is interpolated
constexpr double kLeastFrozenS = 30;  // supplies may be read this seldom
constexpr double kFrozenChange = 0.25;
constexpr double kMostStandbyW = 50;  // of a supply that waits for others to fail

using WitnessReading = NodeWitness::Reading;

// Between two readings; nullopt: there are none around it that are near enough.
std::optional<double> value_at(const std::vector<WitnessReading>& readings, double unix_s) {
  const auto after = std::ranges::lower_bound(readings, unix_s, {}, &WitnessReading::unix_s);
  if (after == readings.end()) return std::nullopt;
  if (after->unix_s == unix_s) return after->value;
  if (after == readings.begin()) return std::nullopt;
  const WitnessReading& before = *std::prev(after);
  const double apart_s = after->unix_s - before.unix_s;
  if (apart_s > kMostApartS) return std::nullopt;
  return before.value + (unix_s - before.unix_s) / apart_s * (after->value - before.value);
}

// Equal readings in a row: from `first` to before `end`.
struct EqualRun {
  std::size_t first = 0;
  std::size_t end = 0;
};

std::vector<EqualRun> equal_runs(const std::vector<WitnessReading>& readings) {
  std::vector<EqualRun> runs;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (runs.empty() || readings[i].value != readings[i - 1].value) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

// Whether the other meters change within the run, not only at its ends: supplies of one node share
// its load.
bool do_others_change(const std::vector<NodeWitness>& parts, std::size_t own, EqualRun run) {
  double least_w = std::numeric_limits<double>::infinity();
  double most_w = 0;
  for (std::size_t i = run.first + 1; i + 1 < run.end; ++i) {
    double sum_w = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (k == own) continue;
      sum_w += value_at(parts[k].readings, parts[own].readings[i].unix_s).value_or(NAN);
    }
    if (std::isnan(sum_w)) continue;
    least_w = std::min(least_w, sum_w);
    most_w = std::max(most_w, sum_w);
  }
  return most_w - least_w > kFrozenChange * most_w;
}

// A supply that draws power at other times shows 0 W: it has failed, or the others bear its load,
// and nothing says which.
std::vector<EqualRun> zero_runs(const std::vector<NodeWitness>& parts, std::size_t own) {
  const std::vector<WitnessReading>& readings = parts[own].readings;
  std::vector<EqualRun> runs = equal_runs(readings);
  if (runs.size() == 1) return {};
  std::erase_if(runs, [&](EqualRun run) { return readings[run.first].value != 0; });
  return runs;
}

// It keeps a value although the others change, unless it is in standby.
std::vector<EqualRun> frozen_runs(const std::vector<NodeWitness>& parts, std::size_t own) {
  const std::vector<WitnessReading>& readings = parts[own].readings;
  std::vector<EqualRun> runs = equal_runs(readings);
  if (runs.size() == 1 && readings[0].value <= kMostStandbyW) return {};
  std::erase_if(runs, [&](EqualRun run) {
    const double seconds = readings[run.end - 1].unix_s - readings[run.first].unix_s;
    return seconds < kLeastFrozenS || !do_others_change(parts, own, run);
  });
  return runs;
}

std::size_t longest_of(const std::vector<EqualRun>& runs) {
  return largest_of<std::size_t>(0, runs, [](const EqualRun& run) { return run.end - run.first; });
}

// Leaves the readings of `runs`, at least one, out. Returns a sentence about them.
std::string leave_out(const std::vector<EqualRun>& runs, NodeWitness& supply) {
  const EqualRun longest =
      *std::ranges::max_element(runs, {}, [](EqualRun run) { return run.end - run.first; });
  const WitnessReading first = supply.readings[longest.first];
  const double last_unix_s = supply.readings[longest.end - 1].unix_s;
  std::size_t count = 0;
  for (const EqualRun& run : runs) {
    for (std::size_t i = run.first; i < run.end; ++i) supply.readings[i].value = NAN;
    count += run.end - run.first;
  }
  std::erase_if(supply.readings, [](const WitnessReading& each) { return std::isnan(each.value); });
  return fmt::format(
      "'{}' shows {:.6g} W from {} to {}, whatever the other supplies show: it had failed, or they bore its load: {} of its readings are left out, and what the node drew then is not known",
      printable(supply.name), first.value, unix_and_iso(first.unix_s), unix_and_iso(last_unix_s),
      count);
}

// The one with the longest dead run first: without it, others may change no more.
void leave_dead_out(std::vector<EqualRun> (*dead_runs)(const std::vector<NodeWitness>&,
                                                       std::size_t),
                    std::vector<NodeWitness>& parts, std::vector<std::string>& warnings) {
  std::vector<EqualRun> dead;
  do {
    dead.clear();
    std::size_t own = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<EqualRun> runs = dead_runs(parts, i);
      if (longest_of(runs) <= longest_of(dead)) continue;
      dead = std::move(runs);
      own = i;
    }
    if (!dead.empty()) warnings.push_back(leave_out(dead, parts[own]));
  } while (!dead.empty());
}

}  // namespace

NodeWitness added_up(std::vector<NodeWitness> parts, std::vector<std::string>& warnings) {
  for (NodeWitness& part : parts) {
    std::ranges::stable_sort(part.readings, {}, &WitnessReading::unix_s);
  }
  if (parts.size() > 1 && parts.front().kind == NodeWitness::Kind::power) {
    leave_dead_out(zero_runs, parts, warnings);
    leave_dead_out(frozen_runs, parts, warnings);
  }
  std::ranges::stable_sort(parts, {}, [](const NodeWitness& part) { return part.readings.size(); });
  NodeWitness sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::vector<WitnessReading> together;
    for (const WitnessReading& reading : sum.readings) {
      const auto more = value_at(parts[i].readings, reading.unix_s);
      if (more) together.push_back({reading.unix_s, reading.value + *more});
    }
    sum.readings = std::move(together);
  }
  return sum;
}

}  // namespace aggregate_power
