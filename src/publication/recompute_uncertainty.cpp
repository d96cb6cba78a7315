// Compares intervals value by value.
#include "publication/recompute_uncertainty.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "results/uncertainty_json.h"

namespace aggregate_power {
namespace {

void compare_members(const JsonValue& computed, const JsonValue& recorded, const std::string& place,
                     RecomputedPoint& result) {
  const JsonValue nothing;
  if (equal_in_python(computed, recorded)) return;
  if (computed.is_object() && recorded.is_object()) {
    for (const auto& [key, value] : computed.members) {
      const JsonValue* const said = recorded.find(key);
      compare_members(value, said == nullptr ? nothing : *said,
                      fmt::format("{}.{}", place, printable(key)), result);
    }
    for (const auto& [key, value] : recorded.members) {
      if (computed.find(key) != nullptr) continue;
      compare_members(nothing, value, fmt::format("{}.{}", place, printable(key)), result);
    }
  } else if (computed.is_array() && recorded.is_array() &&
             computed.items.size() == recorded.items.size()) {
    for (std::size_t i = 0; i < computed.items.size(); ++i) {
      compare_members(computed.items[i], recorded.items[i], fmt::format("{}[{}]", place, i),
                      result);
    }
  } else {
    result.faults.push_back({fmt::format("'{}' of the audit record, against its telemetry", place),
                             computed.shown(), recorded.shown()});
  }
}

}  // namespace

UncertaintyOptions recorded_uncertainty(const JsonValue& record) {
  const JsonValue& options = record.at("computed_from").at("options");
  const auto number = [&](const char* key) {
    const JsonValue& value = options.at(key);
    return value.is_finite_number() ? std::optional(value.as_double()) : std::nullopt;
  };
  return {record.find("uncertainty") != nullptr, options.at("gpu").text, number("sensor_accuracy"),
          number("clock_uncertainty_s")};
}

void compare_uncertainty(const Result& run, const JsonValue& record, RecomputedPoint& result) {
  if (!run.uncertainty || !run.is_valid()) return;  // that is a fault of its own
  compare_members(parse_json(uncertainty_json(run, true).dump()), record.at("uncertainty"),
                  "uncertainty", result);
}

}  // namespace aggregate_power
