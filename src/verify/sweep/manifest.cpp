// Reads the matrix of a sweep, and checks its head and its policy.
#include "verify/sweep/manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::int64_t kMostRunId = (std::int64_t{1} << 53) - 1;

bool is_integer_above_0(const JsonValue& value) {
  return value.kind == JsonKind::integer && value.as_integer().value_or(1) > 0 &&
         !value.text.starts_with('-');
}

// Adds the rows of one kind: a list, or lists by scenario.
void add_rows(const JsonValue& rows, std::vector<const JsonValue*>& all) {
  if (rows.is_array()) {
    for (const JsonValue& row : rows.items) all.push_back(&row);
  }
  for (const JsonValue::Member& scenario : rows.members) add_rows(scenario.second, all);
}

bool is_required(const JsonValue& row) {
  return row.at("require-power").is_true() && !row.at("eval-only").is_true();
}

// What a row lacks that names its point; empty: nothing.
std::string row_fault(const JsonValue& row) {
  for (const char* key : {"exp-name", "model-prefix", "runner", "framework", "precision"}) {
    if (!row.at(key).is_string()) return fmt::format("'{}' is not a text", key);
  }
  const JsonValue& fingerprint = row.at("recipe-fingerprint");
  if (!fingerprint.is_string() || !is_lower_hex(fingerprint.text, 64)) {
    return fmt::format("'recipe-fingerprint' is {}, not 64 hexadecimal digits",
                       fingerprint.shown());
  }
  const JsonValue& disagg = row.at("disagg");
  if (!disagg.is_null() && disagg.kind != JsonKind::boolean) {
    return fmt::format("'disagg' is {}, not true or false", disagg.shown());
  }
  return {};
}

// Its concurrencies; empty: it has none, or not only whole numbers above 0.
std::vector<JsonValue> concurrencies_of(const JsonValue& row) {
  const JsonValue& conc = row.at("conc");
  std::vector<JsonValue> all = conc.is_array() ? conc.items : std::vector{conc};
  return std::ranges::all_of(all, is_integer_above_0) ? all : std::vector<JsonValue>();
}

void add_points(const JsonValue& rows, bool is_multinode, const std::string& name,
                SweepReading& reading) {
  std::vector<const JsonValue*> all;
  add_rows(rows, all);
  for (const JsonValue* const row : all) {
    if (!is_required(*row)) continue;
    const std::string where =
        fmt::format("{}: row '{}' of the matrix", name, printable(row->at("exp-name").text, 200));
    std::string fault = row_fault(*row);
    const std::vector<JsonValue> concurrencies = concurrencies_of(*row);
    if (fault.empty() && concurrencies.empty()) {
      fault = fmt::format("'conc' is {}, not a whole number or a list of them",
                          row->at("conc").shown());
    }
    if (!fault.empty()) reading.faults.push_back({0, where, fault});
    if (!fault.empty()) continue;
    for (const JsonValue& concurrency : concurrencies) {
      reading.points.push_back({row, concurrency, is_multinode});
    }
  }
}

void add_repeated(const std::string& name, SweepReading& reading) {
  std::set<std::pair<std::string, std::string>> met;
  for (const RequiredPoint& point : reading.points) {
    const std::string& fingerprint = point.row->at("recipe-fingerprint").text;
    if (met.emplace(fingerprint, point.concurrency.text).second) continue;
    reading.faults.push_back(
        {0, name, fmt::format("{}: its fingerprint and concurrency occur twice", point.label())});
  }
}

bool is_removed_list(const JsonValue& identities) {
  std::set<std::string> met;
  return identities.is_array() && !identities.items.empty() &&
         std::ranges::all_of(identities.items, [&](const JsonValue& identity) {
           return identity.is_string() && !identity.text.empty() &&
                  met.insert(identity.text).second;
         });
}

bool is_scope(const JsonValue& scope) {
  const JsonValue& run = scope.at("previous_snapshot_workflow_run_id");
  return scope.at("curve_scope").is_string() && !scope.at("curve_scope").text.empty() &&
         is_integer_above_0(run) && run.as_integer().value_or(kMostRunId + 1) <= kMostRunId &&
         is_removed_list(scope.at("removed_point_identities"));
}

// The policy that authorizes no loss.
JsonValue incremental_publication() {
  JsonValue publication = JsonValue::object();
  publication.members = {{"mode", JsonValue::string("incremental")},
                         {"replacement_scope", JsonValue::array()}};
  return publication;
}

}  // namespace

std::string RequiredPoint::label() const {
  return fmt::format("{} conc {}", printable(config_key(), 300), concurrency.text);
}

SweepReading read_sweep(const JsonValue& sweep, const std::string& name) {
  SweepReading reading;
  const auto fault = [&](std::string what, std::string expected, const JsonValue& found) {
    reading.faults.push_back({0, name, std::move(what), std::move(expected), found.shown()});
  };
  const JsonValue& head = sweep.at("head");
  if (!head.is_string() || !is_lower_hex(head.text, 40)) {
    fault("'head'", "40 lower-case hexadecimal digits", head);
  }
  for (const char* const key : {"run-id", "run-attempt"}) {
    if (is_integer_above_0(sweep.at(key))) continue;
    fault(fmt::format("'{}'", key), "a whole number above 0", sweep.at(key));
  }
  const JsonValue& matrix = sweep.at("matrix");
  if (!matrix.is_object()) fault("'matrix'", "an object", matrix);
  add_points(matrix.at("single_node"), false, name, reading);
  add_points(matrix.at("multi_node"), true, name, reading);
  add_repeated(name, reading);
  if (reading.points.empty() && reading.faults.empty()) {
    reading.faults.push_back({0, name, "its matrix requires the power of no point"});
  }
  return reading;
}

std::vector<PublicationFault> run_faults(const JsonValue& sweep, const std::string& name,
                                         const ExpectedRun& expected) {
  std::vector<PublicationFault> faults;
  const JsonValue& id = sweep.at("run-id");
  if (expected.run_id && id.as_integer() != expected.run_id) {
    faults.push_back({0, name, "'run-id'", std::to_string(*expected.run_id), id.shown()});
  }
  const JsonValue& head = sweep.at("head");
  if (!expected.head.empty() && head.text != expected.head) {
    faults.push_back({0, name, "'head'", expected.head, head.shown()});
  }
  const JsonValue& attempt = sweep.at("run-attempt");
  if (expected.run_attempt) {
    const std::int64_t found = attempt.as_integer().value_or(0);
    if (found <= 0 || found > *expected.run_attempt) {
      faults.push_back({0, name, "'run-attempt'", fmt::format("1 to {}", *expected.run_attempt),
                        attempt.shown()});
    }
  }
  return faults;
}

std::vector<PublicationFault> publication_faults(const JsonValue& publication,
                                                 const std::string& name) {
  std::vector<PublicationFault> faults;
  const auto fault = [&](std::string what) { faults.push_back({0, name, std::move(what)}); };
  const std::string& mode = publication.at("mode").text;
  const JsonValue& scopes = publication.at("replacement_scope");
  if ((mode != "incremental" && mode != "replacement") || !scopes.is_array()) {
    fault("'publication' has no known mode with a list of scopes");
    return faults;
  }
  if (mode == "incremental" && !scopes.items.empty()) {
    fault("an incremental publication replaces nothing, but 'replacement_scope' is not empty");
  }
  if (mode == "replacement" && scopes.items.empty()) {
    fault("a replacement must name what it replaces, but 'replacement_scope' is empty");
  }
  std::set<std::string> curves;
  for (const JsonValue& scope : scopes.items) {
    if (!is_scope(scope)) {
      fault("a replacement scope does not name a curve, a snapshot and the points that it removes");
    } else if (!curves.insert(scope.at("curve_scope").text).second) {
      fault(fmt::format("the curve {} is replaced twice", scope.at("curve_scope").shown()));
    }
  }
  return faults;
}

JsonValue manifest_of(JsonValue description, std::vector<JsonValue> points) {
  const auto set = [&](const std::string& key, JsonValue value) {
    const auto member = std::ranges::find(description.members, key, &JsonValue::Member::first);
    if (member != description.members.end()) {
      member->second = std::move(value);
    } else {
      description.members.emplace_back(key, std::move(value));
    }
  };
  JsonValue publication = description.find("publication") != nullptr ? description.at("publication")
                                                                     : incremental_publication();
  JsonValue list = JsonValue::array();
  list.items = std::move(points);
  set("schema-version", JsonValue::integer(kSweepSchemaVersion));
  set("publication", std::move(publication));
  set("points", std::move(list));
  return description;
}

// ---- Serializes JSON values.

namespace {

// Python reads -0 as the integer 0.
std::string integer_text(const std::string& spelling) { return spelling == "-0" ? "0" : spelling; }

std::string escape_of(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      return fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
}

bool is_escaped(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// The character that begins at text[at], which is well formed but may be a lone surrogate; `at`
// moves past it.
char32_t take_character(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = size == 1 ? first : first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) character = character << 6 | (byte(at + i) & 0x3FU);
  at += size;
  return character;
}

std::string ascii_string(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      is_escaped(c) || c == '\x7F' ? quoted += escape_of(c) : quoted += c;
      ++at;
      continue;
    }
    const char32_t character = take_character(text, at);
    if (character < 0x10000) {
      quoted += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character));
    } else {
      const std::uint32_t rest = character - 0x10000;
      quoted += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
  }
  return quoted + '"';
}

std::string utf8_string(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = take_character(text, at);
    if (character >= 0xD800 && character < 0xE000) {
      throw Error("a text contains half a character, which UTF-8 cannot express");
    }
    is_escaped(text[begin]) ? quoted += escape_of(text[begin])
                            : quoted.append(text, begin, at - begin);
  }
  return quoted + '"';
}

std::string scalar_text(const JsonValue& value) {
  if (value.kind == JsonKind::null) return "null";
  if (value.kind == JsonKind::boolean) return value.text;
  return integer_text(value.text);
}

void add_receipt_value(const JsonValue& value, std::string& out) {
  if (value.is_string()) {
    out += utf8_string(value.text);
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) out += ',';
      add_receipt_value(value.items[i], out);
    }
    out += ']';
  } else if (value.is_object()) {
    std::vector<const JsonValue::Member*> members;
    for (const JsonValue::Member& member : value.members) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return member->first; });
    out += '{';
    for (const JsonValue::Member* const member : members) {
      if (member != members.front()) out += ',';
      out += utf8_string(member->first) + ':';
      add_receipt_value(member->second, out);
    }
    out += '}';
  } else if (value.kind == JsonKind::real) {
    throw Error(
        fmt::format("{} is not an integer, and a receipt has no other numbers", value.shown()));
  } else {
    out += scalar_text(value);
  }
}

void add_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

void add_indented(const JsonValue& value, std::size_t depth, std::string& out) {
  const bool is_object = value.is_object();
  const std::size_t size = is_object ? value.members.size() : value.items.size();
  if (value.is_string()) {
    out += ascii_string(value.text);
  } else if (is_object || value.is_array()) {
    out += is_object ? '{' : '[';
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out += ',';
      add_line(out, depth + 1);
      if (is_object) out += ascii_string(value.members[i].first) + ": ";
      add_indented(is_object ? value.members[i].second : value.items[i], depth + 1, out);
    }
    if (size > 0) add_line(out, depth);
    out += is_object ? '}' : ']';
  } else if (value.kind == JsonKind::real) {
    if (!value.is_finite_number()) throw Error(value.shown() + " is not a number of JSON");
    out += json_number(value.as_double());
  } else {
    out += scalar_text(value);
  }
}

}  // namespace

std::string receipt_bytes(const JsonValue& value) {
  std::string bytes;
  add_receipt_value(value, bytes);
  return bytes;
}

std::string indented_json(const JsonValue& value) {
  std::string text;
  add_indented(value, 0, text);
  return text + '\n';
}

}  // namespace aggregate_power
