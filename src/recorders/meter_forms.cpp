// Reads what meters of nodes log by themselves: PTDaemon, MLPerf Training, Redfish, Shelly,
// Tasmota, SNMP and iDRAC.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/sample.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/pattern.h"
#include "core/telemetry/lines.h"
#include "recorders/node_sensors.h"

namespace aggregate_power {
namespace {

constexpr double kJoulesOfWh = 3600;
constexpr double kJoulesOfKwh = 3.6e6;

void add_meter_reading(NodeWitnesses& found, std::string_view name, std::string_view source,
                       std::string_view scope, NodeWitness::Reading reading,
                       NodeWitness::Kind kind = NodeWitness::Kind::power) {
  if (!(reading.value >= 0) || !std::isfinite(reading.value)) return;  // -1: there is none
  NodeWitness& witness = witness_named(found, name, kind);
  witness.source = source;
  witness.scope = scope;
  witness.readings.push_back(reading);
}

// ---- Names of sensors: all that they are part of, and their own one, with a divider between them.

constexpr char kDivider = '\n';

std::string below(std::string_view place, std::string_view name) {
  if (place.empty() || name.empty()) return fmt::format("{}{}", place, name);
  return fmt::format("{}{}{}", place, kDivider, name);
}

// Leaves its own name to each sensor that shares it with no other of its kind.
void shorten_names(NodeWitnesses& found) {
  const auto own_name = [](const NodeWitness& witness) {
    return std::pair(witness.kind, witness.name.substr(witness.name.rfind(kDivider) + 1));
  };
  std::map<std::pair<NodeWitness::Kind, std::string>, std::size_t> uses;
  for (const NodeWitness& witness : found.witnesses) ++uses[own_name(witness)];
  for (NodeWitness& witness : found.witnesses) {
    auto own = own_name(witness);
    if (uses[own] == 1) witness.name = std::move(own.second);
    std::ranges::replace(witness.name, kDivider, '/');
  }
}

// ---- PTDaemon: "Time,09-08-2026 07:20:30.123,Watts,1500.5,Volts,...,Mark,run_testing"

constexpr std::string_view kPtdTime = "Time,";
constexpr std::string_view kPtdWatts = ",Watts,";

struct PtdLine {
  std::string_view date;  // of two numbers and the year
  std::string_view clock;
  std::string_view watts;  // the first: the sum of all meters and channels
  std::string_view mark;   // empty: none
};

std::string_view cell_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == line.npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(','));
}

std::optional<PtdLine> ptd_line(std::string_view line) {
  static constexpr Pattern stamp = "\\d\\d-\\d\\d-\\d{4} \\d\\d:\\d\\d:\\d\\d([.]\\d+)?";
  if (!line.starts_with(kPtdTime) || line.find(kPtdWatts) == line.npos) return std::nullopt;
  const std::string_view time = cell_after(line, kPtdTime);
  if (!stamp.matches(time)) return std::nullopt;
  return PtdLine{time.substr(0, 10), time.substr(11), cell_after(line, kPtdWatts),
                 cell_after(line, ",Mark,")};
}

bool fits_ptd(std::string_view head) {
  return any_witness_line(head, [](std::string_view line) { return ptd_line(line).has_value(); });
}

// New ones write the month first, and old ones the day: a file with a day after the 12th says
// which.
struct PtdHabits {
  bool has_day_first = false;
  bool marks_tests = false;

  // Of ranging, which comes before, the load is the same and the meter is being set up.
  bool counts(std::string_view mark) const {
    return mark.find(marks_tests ? "testing" : "ranging") != mark.npos ? marks_tests : !marks_tests;
  }
};

PtdHabits habits_of(std::string_view text) {
  PtdHabits habits;
  for_each_witness_line(text, [&](std::string_view line, std::size_t) {
    const auto read = ptd_line(line);
    if (!read) return;
    habits.has_day_first = habits.has_day_first || read->date.substr(0, 2) > "12";
    habits.marks_tests = habits.marks_tests || read->mark.find("testing") != read->mark.npos;
  });
  return habits;
}

void read_ptd(const WitnessText& file, NodeWitnesses& found) {
  WitnessTimes times(file);
  const PtdHabits habits = habits_of(file.text);
  const std::size_t day = habits.has_day_first ? 0 : 3;
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) {
    const auto read = ptd_line(line);
    if (!read || !habits.counts(read->mark)) return;
    const auto unix_s =
        times.unix_s(fmt::format("{}-{}-{}T{}", read->date.substr(6), read->date.substr(3 - day, 2),
                                 read->date.substr(day, 2), read->clock));
    const auto watts = sensor_number(read->watts);
    if (unix_s && watts) add_meter_reading(found, "Watts", "ptdaemon", "node", {*unix_s, *watts});
  });
}

// ---- MLPerf Training: ":::MLLOG {"time_ms": ..., "key": "power_reading", "value": 1500.0, ...}"

constexpr std::string_view kMllog = ":::MLLOG ";

bool fits_mllog(std::string_view head) { return has_all(head, {kMllog, "\"power_reading\""}); }

std::string text_of(const Json& object, const char* key) {
  const Json* const value = find_member(object, key);
  return value && value->is_string() ? value->get<std::string>() : "";
}

std::optional<double> number_of(const Json& object, const char* key) {
  const Json* const value = find_member(object, key);
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::string node_of_mllog(const Json& entry, const std::string& path) {
  const Json* const metadata = find_member(entry, "metadata");
  std::string host = metadata ? text_of(*metadata, "host") : "";
  return host.empty() ? plain_stem(path) : host;
}

void read_mllog(const WitnessText& file, NodeWitnesses& found) {
  bool has_efficiency = false;
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) {
    const std::size_t at = line.find(kMllog);
    if (at == line.npos) return;
    const Json entry = parsed_json(line.substr(at + kMllog.size()));
    const std::string key = text_of(entry, "key");
    has_efficiency = has_efficiency || key == "conversion_eff";
    const auto watts = number_of(entry, "value");
    const auto time_ms = number_of(entry, "time_ms");
    if (key != "power_reading" || !watts || !time_ms) return;
    const std::string node = node_of_mllog(entry, file.path);
    add_meter_reading(found, node, "mlperf-training", node.starts_with("sw") ? "unknown" : "node",
                      {*time_ms / 1000, *watts});
  });
  found.has_several_hosts = found.witnesses.size() > 1;
  if (!has_efficiency) return;
  found.warnings.push_back(fmt::format(
      "{}: it states a conversion_eff, with which its readings are not multiplied here: they are watts where the meter is",
      printable_path(file.path)));
}

// ---- JSON in lines: Redfish, Shelly, Tasmota

// The supplies of each sum of them.
using SuppliesByName = std::map<std::string, std::vector<NodeWitness>>;

// What a reader of JSON needs to know of a line.
struct JsonLine {
  NodeWitnesses& found;
  double unix_s;
  SuppliesByName& supplies;
};

// The place of one of several items.
std::string item_of(const Json& list, std::size_t i, const std::string& place) {
  return list.size() > 1 ? fmt::format("{} {}", place, i) : place;
}

// By the names that makers give.
std::string scope_of_redfish(const Json& object, std::string_view otherwise) {
  const std::string name = lower_ascii(
      fmt::format("{} {} {} {}", text_of(object, "PhysicalContext"), text_of(object, "Id"),
                  text_of(object, "Name"), text_of(object, "@odata.id")));
  const auto has = [&](std::string_view word) { return name.find(word) != name.npos; };
  if (has("gpu") || has("accelerator")) return "gpu";
  if (has("cpu") || has("processor")) return "cpu";
  if (has("memory") || has("dimm")) return "memory";
  if (has("system") || has("chassis") || has("total") || has("server")) return "node";
  return std::string(otherwise);
}

// Two may have one name, and other numbers.
std::string name_of_redfish(const Json& object, const std::string& place,
                            std::string_view otherwise) {
  std::string name;
  std::string number;
  for (const char* const key : {"Name", "Id", "MemberId"}) {
    std::string text = text_of(object, key);
    if (name.empty()) {
      name = std::move(text);
    } else if (number.empty()) {
      number = std::move(text);
    }
  }
  return below(below(place, number), name.empty() ? otherwise : name);
}

void take_power_control(const std::string& place, const Json& members, const JsonLine& line) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto watts = number_of(members[i], "PowerConsumedWatts");
    if (!watts) continue;
    add_meter_reading(
        line.found, name_of_redfish(members[i], item_of(members, i, place), "PowerControl"),
        "redfish", scope_of_redfish(members[i], members.size() == 1 ? "node" : "unknown"),
        {line.unix_s, *watts});
  }
}

// What they draw from the wall, if each says it.
void take_power_supplies(const std::string& place, const Json& supplies, const JsonLine& line) {
  std::vector<double> watts;
  for (const Json& supply : supplies) {
    const auto each = number_of(supply, "PowerInputWatts");
    if (!each) return;
    watts.push_back(*each);
  }
  if (watts.empty()) return;
  const std::string name = below(place, "PowerSupplies input");
  add_meter_reading(line.found, name, "redfish", "node",
                    {line.unix_s, std::accumulate(watts.begin(), watts.end(), 0.0)});
  std::vector<NodeWitness>& parts = line.supplies[name];
  parts.resize(std::max(parts.size(), watts.size()));
  for (std::size_t i = 0; i < watts.size(); ++i) {
    parts[i].name = text_of(supplies[i], "Name");
    if (parts[i].name.empty()) parts[i].name = fmt::format("supply {}", i);
    parts[i].readings.push_back({line.unix_s, watts[i]});
  }
}

// Leaves the times out at which one of the supplies is dead.
void add_supplies_up(SuppliesByName& supplies, NodeWitnesses& found) {
  for (auto& [name, parts] : supplies) {
    const auto sum = std::ranges::find(found.witnesses, name, &NodeWitness::name);
    if (sum == found.witnesses.end()) continue;
    sum->readings = added_up(std::move(parts), found.warnings).readings;
    if (sum->readings.empty()) found.witnesses.erase(sum);
  }
}

void take_redfish_sensor(const std::string& place, const Json& sensor, const JsonLine& line) {
  const auto reading = number_of(sensor, "Reading");
  const std::string unit = text_of(sensor, "ReadingUnits");
  const bool is_bare = unit.empty() && text_of(sensor, "ReadingType") == "Power";
  const auto size = is_bare ? PowerUnit::Size::watt : power_unit(unit);
  if (!reading || !size) return;
  add_meter_reading(line.found, name_of_redfish(sensor, place, "Reading"), "redfish",
                    scope_of_redfish(sensor, "unknown"), {line.unix_s, in_watts(*reading, *size)});
}

void take_environment(const std::string& place, const Json& object, const JsonLine& line) {
  const Json* const power = find_member(object, "PowerWatts");
  const auto watts = power ? number_of(*power, "Reading") : std::nullopt;
  if (!watts) return;
  add_meter_reading(line.found, name_of_redfish(object, place, "PowerWatts"), "redfish",
                    scope_of_redfish(object, "unknown"), {line.unix_s, *watts});
}

// Plugs and meters: active power, of all phases if there are several, and energy in Wh. Apparent
// power is in VA and is not read.
void take_shelly(const std::string& place, const Json& part, const JsonLine& line) {
  const auto id = number_of(part, "id");
  const std::string name = place.empty() && id ? fmt::format("switch {}", *id) : place;
  for (const char* const key : {"total_act_power", "act_power", "apower"}) {
    const auto watts = number_of(part, key);
    if (!watts) continue;
    add_meter_reading(line.found, name, "shelly", "node", {line.unix_s, *watts});
    break;
  }
  const Json* const energy = find_member(part, "aenergy");
  const auto wh = energy ? number_of(*energy, "total") : std::nullopt;
  if (!wh) return;
  add_meter_reading(line.found, name, "shelly", "node", {line.unix_s, *wh * kJoulesOfWh},
                    NodeWitness::Kind::counter);
}

// Of the first generation: {"power": 150.5, "is_valid": true, "total": watt-minutes}.
void take_shelly_meters(const std::string& place, const Json& meters, const JsonLine& line) {
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const auto watts = number_of(meters[i], "power");
    const Json* const is_valid = find_member(meters[i], "is_valid");
    if (!watts || (is_valid && *is_valid != true)) continue;
    add_meter_reading(line.found, below(place, fmt::format("meter {}", i)), "shelly", "node",
                      {line.unix_s, *watts});
  }
}

// "Power" in W and "Total" in kWh, or arrays of them for two channels.
void take_tasmota(const std::string& place, const Json& energy, const JsonLine& line) {
  const auto take = [&](const char* key, double factor, NodeWitness::Kind kind) {
    const Json* const value = find_member(energy, key);
    if (!value) return;
    const auto add = [&](const std::string& name, const Json& number) {
      if (!number.is_number()) return;
      add_meter_reading(line.found, name, "tasmota", "node",
                        {line.unix_s, number.get<double>() * factor}, kind);
    };
    add(place, *value);
    if (!value->is_array()) return;
    for (std::size_t i = 0; i < value->size(); ++i)
      add(fmt::format("{} {}", place, i + 1), (*value)[i]);
  };
  take("Power", 1, NodeWitness::Kind::power);
  take("Total", kJoulesOfKwh, NodeWitness::Kind::counter);
}

// At any depth: loggers put the answers of a meter into members of their own. Answers that say
// whose they are may come in lines of their own.
void take_json(std::string place, const Json& value, const JsonLine& line, int depth = 0) {
  constexpr int kMostDepth = 6;
  if (depth > kMostDepth) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      take_json(item_of(value, i, place), value[i], line, depth + 1);
    }
  }
  if (!value.is_object()) return;
  take_shelly(place, value, line);
  for (const char* const key : {"@odata.id", "src"}) place = below(place, text_of(value, key));
  take_redfish_sensor(place, value, line);
  take_environment(place, value, line);
  for (const auto& [key, part] : value.items()) {
    const std::string inside = below(place, key);
    if (key == "PowerControl" && part.is_array()) {
      take_power_control(inside, part, line);
    } else if (key == "PowerSupplies" && part.is_array()) {
      take_power_supplies(place, part, line);
    } else if ((key == "meters" || key == "emeters") && part.is_array()) {
      take_shelly_meters(inside, part, line);
    } else if (key == "ENERGY" && part.is_object()) {
      take_tasmota(inside, part, line);
    } else if (key != "PowerWatts" && key != "aenergy") {
      take_json(inside, part, line, depth + 1);
    }
  }
}

// The stamp of a logger before the JSON, or in it, or the meter's own. A PeakReadingTime is not it.
std::optional<double> time_in(std::string_view before, const Json& json, WitnessTimes& times) {
  while (!before.empty() && std::string_view(",;: \t\"'").find(before.back()) != before.npos) {
    before.remove_suffix(1);
  }
  if (!before.empty()) return times.unix_s(strip(before));
  // A meter's "time" may be a time of day.
  for (const char* const key : {"timestamp", "Timestamp", "ts", "unixtime", "time", "Time"}) {
    const auto number = number_of(json, key);
    const std::string text = number ? fmt::format("{}", *number) : text_of(json, key);
    if (const auto at = times.unix_s(text)) return at;
  }
  for (const auto& [key, member] : json.items()) {
    if ((key == "sys" || key == "StatusSNS") && member.is_object())
      return time_in("", member, times);
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 10> kJsonWords = {
    "\"PowerControl\"", "\"PowerSupplies\"", "\"ReadingUnits\"", "\"PowerWatts\"", "\"apower\"",
    "\"act_power\"",    "\"meters\"",        "\"emeters\"",      "\"ENERGY\"",     "\"aenergy\""};

bool fits_json_meter(std::string_view head) {
  const std::string_view first = strip(head.substr(0, head.find('\n')));
  if (first.find('{') == first.npos) return false;
  return std::ranges::any_of(kJsonWords,
                             [&](std::string_view word) { return head.find(word) != head.npos; });
}

void read_json_meter(const WitnessText& file, NodeWitnesses& found) {
  WitnessTimes times(file);
  std::size_t unusable = 0;
  SuppliesByName supplies;
  for_each_witness_line(file.text, [&](std::string_view text, std::size_t number) {
    const std::size_t begin = text.find('{');
    if (begin == text.npos) return;
    const Json json = parsed_json(text.substr(begin));
    if (!json.is_object()) {
      ++unusable;
      return;
    }
    const auto unix_s = time_in(text.substr(0, begin), json, times);
    if (!unix_s) {
      throw Error(fmt::format(
          "{}: line {}: it has no time: log one before each answer, as from date +%s, or in a member 'timestamp'",
          printable_path(file.path), number));
    }
    take_json("", json, {found, *unix_s, supplies});
  });
  add_supplies_up(supplies, found);
  shorten_names(found);
  if (unusable == 0) return;
  found.warnings.push_back(fmt::format("{}: skipped {} lines that are not whole JSON",
                                       printable_path(file.path), unusable));
}

// ---- Lines of a PDU or of racadm, each with its time or after a line with it:
// "2026-09-08 09:20:30.123,SNMPv2-SMI::enterprises.13742.6.5.4.3.1.4.1.1.5 = Gauge32: 1500"

struct PduValue {
  std::string name;
  double value;
  NodeWitness::Kind kind = NodeWitness::Kind::power;
  std::string_view source = "snmp";
};

// The objects that are whole devices or outlets; phases and banks are parts of them.
std::optional<PduValue> pdu_value(std::string_view object, double number) {
  static constexpr Pattern apc_device =
      ".*(rPDU2DeviceStatusPower|318[.]1[.]1[.]26[.]4[.]3[.]1[.]5)[.][0-9]+";
  static constexpr Pattern apc_outlet =
      ".*(rPDU2OutletMeteredStatusPower|318[.]1[.]1[.]26[.]9[.]4[.]3[.]1[.]7)[.][0-9]+";
  static constexpr Pattern raritan_watts = ".*13742[.]6[.]5[.]4[.]3[.]1[.]4[.][0-9]+[.][0-9]+[.]5";
  static constexpr Pattern raritan_wh = ".*13742[.]6[.]5[.]4[.]3[.]1[.]4[.][0-9]+[.][0-9]+[.]8";
  const auto cut_part = [&] {  // the last number of the object
    const std::size_t point = object.rfind('.');
    const std::string part(object.substr(point + 1));
    object = object.substr(0, point);
    return part;
  };
  constexpr double kHundredthsOfKw = 10;
  if (apc_device.matches(object)) {
    return PduValue{fmt::format("PDU {}", cut_part()), number * kHundredthsOfKw};
  }
  if (apc_outlet.matches(object)) return PduValue{fmt::format("outlet {}", cut_part()), number};
  const bool is_energy = raritan_wh.matches(object);
  if (!is_energy && !raritan_watts.matches(object)) return std::nullopt;
  cut_part();  // the sensor
  const std::string outlet = fmt::format("outlet {}", cut_part());
  PduValue value{below(fmt::format("PDU {}", cut_part()), outlet), number};
  if (!is_energy) return value;
  value.value *= kJoulesOfWh;
  value.kind = NodeWitness::Kind::counter;
  return value;
}

struct PduLine {
  std::string_view time;  // empty: a line before has it
  PduValue value;
};

std::optional<PduLine> pdu_line(std::string_view line) {
  const std::size_t sign = line.find('=');
  if (sign == line.npos) return std::nullopt;
  std::string_view object = strip(line.substr(0, sign));
  std::string_view value = strip(line.substr(sign + 1));
  if (const std::size_t colon = value.find(": "); colon != value.npos)
    value.remove_prefix(colon + 2);
  const auto number = sensor_number(value.substr(0, value.find_first_of(" \t|W")));
  if (!number) return std::nullopt;
  const std::size_t cut = object.find_last_of(", \t");
  const std::string_view time = cut == object.npos ? "" : strip(object.substr(0, cut));
  if (cut != object.npos) object.remove_prefix(cut + 1);
  if (object == "Realtime.Power") {
    return PduLine{time, {"Realtime.Power", *number, NodeWitness::Kind::power, "idrac"}};
  }
  auto read = pdu_value(object, *number);
  if (!read) return std::nullopt;
  return PduLine{time.ends_with(',') ? strip(time.substr(0, time.size() - 1)) : time,
                 std::move(*read)};
}

bool fits_pdu(std::string_view head) {
  return any_witness_line(head, [](std::string_view line) { return pdu_line(line).has_value(); });
}

void read_pdu(const WitnessText& file, NodeWitnesses& found) {
  WitnessTimes times(file);
  std::optional<double> before;
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t number) {
    const auto read = pdu_line(line);
    if (!read) {
      if (const std::string_view time = time_of_line(line); !time.empty())
        before = times.unix_s(time);
      return;
    }
    const auto unix_s = read->time.empty() ? before : times.unix_s(read->time);
    if (!unix_s) {
      throw Error(fmt::format(
          "{}: line {}: it has no date and time: log them before each reading, as from date +%s",
          printable_path(file.path), number));
    }
    const PduValue& value = read->value;
    add_meter_reading(found, value.name, value.source, "node", {*unix_s, value.value}, value.kind);
  });
  shorten_names(found);
}

// ---- Tables of loggers of iDRAC and IPMI, and columns beside the readings of GPUs

struct KnownColumn {
  std::string_view name;
  std::string_view source;
};
constexpr KnownColumn kKnownColumns[] = {
    {"realtime_power", "idrac"}, {"powerreading_watts", "ipmi"}, {"wall_power_w", "csv"},
    {"pdu_power_w", "csv"},      {"node_power_w", "csv"},        {"sys_power_w", "csv"}};
// An epoch before a local time.
constexpr std::string_view kTimeColumns[] = {"unixtimestamp", "timestamp", "time"};
constexpr std::string_view kHostColumns[] = {"host",      "hostname", "host_name", "node",
                                             "node_name", "nodename", "instance"};

struct KnownTable {
  std::size_t time = std::string::npos;
  std::size_t host = std::string::npos;
  std::vector<std::pair<std::size_t, KnownColumn>> meters;
};

KnownTable known_table(const std::vector<std::string>& header) {
  KnownTable table;
  const auto place = [&](std::string_view name) {
    const auto found = std::ranges::find_if(
        header, [&](const std::string& cell) { return lower_ascii(strip(cell)) == name; });
    return found == header.end() ? std::string::npos
                                 : static_cast<std::size_t>(found - header.begin());
  };
  for (const std::string_view name : kTimeColumns) {
    if (table.time == std::string::npos) table.time = place(name);
  }
  for (const std::string_view name : kHostColumns) {
    if (table.host == std::string::npos) table.host = place(name);
  }
  for (const KnownColumn& column : kKnownColumns) {
    if (const std::size_t at = place(column.name); at != std::string::npos) {
      table.meters.emplace_back(at, column);
    }
  }
  return table;
}

// Columns of a node's power alone are read by kSensorTableForm, which knows hosts.
bool fits_known_table(std::string_view head) {
  static constexpr Pattern gpu = ".*power[.]draw.*|index|gpu|gpu[_ ]?(id|index|uuid)";
  const std::vector<std::string> header = cells_of_line(head.substr(0, head.find('\n')));
  const KnownTable table = known_table(header);
  if (table.time == std::string::npos || table.meters.empty()) return false;
  const bool is_of_gpus = std::ranges::any_of(
      header, [&](const std::string& cell) { return gpu.matches(lower_ascii(strip(cell))); });
  const auto is_only_here = [](const auto& meter) {
    return meter.second.name != "node_power_w" && meter.second.name != "sys_power_w";
  };
  return is_of_gpus || std::ranges::any_of(table.meters, is_only_here);
}

// Rows of several GPUs repeat what their node draws: each time counts once.
class KnownTableReader {
 public:
  KnownTableReader(const WitnessText& file, NodeWitnesses& found) : times_(file), found_(found) {}

  void take_header(const std::vector<std::string>& cells) { table_ = known_table(cells); }

  void take(const std::vector<std::string>& cells) {
    const auto cell = [&](std::size_t at) {
      return at < cells.size() ? strip(cells[at]) : std::string_view();
    };
    const auto unix_s = times_.unix_s(cell(table_.time));
    if (!unix_s) return;
    const std::string host(cell(table_.host));
    for (const auto& [at, column] : table_.meters) {
      std::string_view text = cell(at);
      if (text.ends_with(" W")) text.remove_suffix(2);
      const auto watts = sensor_number(text);
      if (!watts || !seen_.emplace(*unix_s, at, host).second) continue;
      hosts_.insert(host);
      add_meter_reading(found_, below(host, column.name), column.source, "node", {*unix_s, *watts});
    }
  }

  void finish() {
    found_.has_several_hosts = hosts_.size() > 1;
    shorten_names(found_);
  }

 private:
  WitnessTimes times_;
  NodeWitnesses& found_;
  KnownTable table_;
  std::set<std::tuple<double, std::size_t, std::string>> seen_;
  std::set<std::string> hosts_;
};

void read_known_table(const WitnessText& file, NodeWitnesses& found) {
  KnownTableReader reader(file, found);
  for_each_witness_line(whole_lines(file.text), [&](std::string_view line, std::size_t number) {
    try {
      const std::vector<std::string> cells = cells_of_line(line);
      number == 1 ? reader.take_header(cells) : reader.take(cells);
    } catch (const CsvError& error) {
      throw Error(fmt::format("{}: line {}: {}", printable_path(file.path), number, error.what()));
    }
  });
  reader.finish();
}

}  // namespace

const WitnessForm kPtdForm = {fits_ptd, read_ptd};
const WitnessForm kMllogForm = {fits_mllog, read_mllog};
const WitnessForm kJsonMeterForm = {fits_json_meter, read_json_meter};
const WitnessForm kPduForm = {fits_pdu, read_pdu};
const WitnessForm kMeterTableForm = {fits_known_table, read_known_table};

}  // namespace aggregate_power
