// Reads the matrix of a sweep, and checks its head and its policy.
#include "verify/sweep/manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/sha256.h"
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

JsonValue incremental_publication() {
  JsonValue publication = JsonValue::object();
  publication.members = {{"mode", JsonValue::string("incremental")},
                         {"replacement_scope", JsonValue::array()}};
  return publication;
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

}  // namespace aggregate_power
