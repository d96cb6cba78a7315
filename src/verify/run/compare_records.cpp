// Walks both records together.
#include "verify/run/compare_records.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// Paths, texts with paths in them, and what verify checks by itself.
constexpr std::string_view kIgnored[] = {"telemetry_source",
                                         "benchmark_result",
                                         "failures",
                                         "request_energy.source",
                                         "node_errors",
                                         "computed_from.tool_version",
                                         "computed_from.aggregate",
                                         "computed_from.inputs",
                                         "computed_from.options",
                                         "computed_from.patched",
                                         "computed_from.timezone_source",
                                         "computed_from.timezone_evidence",
                                         "computed_from.telemetry_source",
                                         "computed_from.producer_pin"};
// Below computed_from, of each host; and of each witness.
constexpr std::string_view kIgnoredEnds[] = {".telemetry", ".identity", ".timezone_source"};

bool is_ignored(std::string_view key) {
  if (std::ranges::find(kIgnored, key) != std::end(kIgnored)) return true;
  if (key.starts_with("witnesses[")) return key.ends_with(".file");
  return key.starts_with("computed_from.") &&
         std::ranges::any_of(kIgnoredEnds,
                             [&](std::string_view end) { return key.ends_with(end); });
}

// The zone of another machine, or one that only people can read, is given again as an offset.
bool is_unnamed_zone(const std::string& key, const JsonValue* found) {
  return key.ends_with(".timezone") && found != nullptr &&
         (found->text == "local" || found->text.find(',') != std::string::npos);
}

bool is_text_value(const JsonValue* value) {
  return value == nullptr || value->is_string() || value->is_null();
}

std::string shown_value(const JsonValue* value) {
  return value == nullptr ? "nothing" : value->shown();
}

void walk(const JsonValue* expected, const JsonValue* found, const std::string& key,
          std::vector<RecordDifference>& differences) {
  if (is_ignored(key) || is_unnamed_zone(key, found)) return;
  const auto differ = [&] {
    const bool is_of_number =
        found != nullptr && !(is_text_value(expected) && is_text_value(found));
    differences.push_back({key, shown_value(expected), shown_value(found), is_of_number});
  };
  if (expected == nullptr || found == nullptr) {
    differ();
  } else if (expected->is_object() && found->is_object()) {
    const auto below = [&](const std::string& name) {
      return key.empty() ? name : fmt::format("{}.{}", key, name);
    };
    for (const auto& [name, value] : expected->members) {
      walk(&value, found->find(name), below(name), differences);
    }
    for (const auto& [name, value] : found->members) {
      if (expected->find(name) == nullptr) walk(nullptr, &value, below(name), differences);
    }
  } else if (expected->is_array() && found->is_array()) {
    const std::size_t most = std::max(expected->items.size(), found->items.size());
    const auto item = [](const JsonValue& array, std::size_t i) {
      return i < array.items.size() ? &array.items[i] : nullptr;
    };
    for (std::size_t i = 0; i < most; ++i) {
      walk(item(*expected, i), item(*found, i), fmt::format("{}[{}]", key, i), differences);
    }
  } else if (!equal_in_python(*expected, *found)) {
    differ();
  }
}

}  // namespace

std::vector<RecordDifference> compare_values(const JsonValue* expected, const JsonValue* found,
                                             const std::string& key) {
  std::vector<RecordDifference> differences;
  walk(expected, found, key, differences);
  return differences;
}

std::vector<RecordDifference> compare_records(const JsonValue& expected, const JsonValue& found) {
  return compare_values(&expected, &found, "");
}

}  // namespace aggregate_power
