// Checks the points, the digest and the artifacts of a receipt.
#include "publication/receipt_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/sha256.h"
#include "publication/json_text.h"

namespace aggregate_power {
namespace {

bool has_item(const JsonValue& list, const JsonValue& item) {
  return std::ranges::any_of(list.items,
                             [&](const JsonValue& other) { return other.text == item.text; });
}

bool has_repeated(const JsonValue& list) {
  std::set<std::string> met;
  return !std::ranges::all_of(list.items,
                              [&](const JsonValue& item) { return met.insert(item.text).second; });
}

// Rules that concern several keys of one point; empty: they hold.
std::string point_fault(const JsonValue& point) {
  const JsonValue& ids = point.at("artifact_ids");
  if (point.at("config").members.empty()) return "has no config";
  if (point.at("required_metrics").items.empty()) return "requires no metric";
  if (point.at("execution_id").text.empty()) return "has no execution";
  if (has_repeated(ids)) return "names an artifact twice";
  if (!has_item(ids, point.at("execution_artifact_id"))) return "has its execution in no artifact";
  if (!has_item(ids, point.at("normalized_artifact_id"))) return "has its result in no artifact";
  const bool is_evaluation = point.at("kind").text == "eval";
  const bool is_raw = point.at("normalized_format").text == "lm-eval";
  if (is_raw && (!is_evaluation || point.at("metadata_path").text.empty())) {
    return "has a raw result without its metadata";
  }
  if (!is_evaluation) return {};
  if (point.at("task").text.empty() || point.at("filters").items.empty() ||
      point.at("sample_count").as_integer().value_or(0) <= 0 || has_repeated(point.at("filters")) ||
      point.at("samples_path").text.empty() || !has_item(ids, point.at("samples_artifact_id"))) {
    return "does not name its task, filters, count and samples";
  }
  return {};
}

void check_points(const JsonValue& receipt, const std::string& name,
                  std::vector<PublicationFault>& faults) {
  std::set<std::string> met;
  for (const JsonValue& point : receipt.at("points").items) {
    const std::string& id = point.at("point_id").text;
    const std::string fault = point_fault(point);
    if (!fault.empty()) faults.push_back({0, name, fmt::format("point {} {}", id, fault)});
    if (!met.insert(id).second)
      faults.push_back({0, name, fmt::format("point {} occurs twice", id)});
  }
  if (met.empty()) faults.push_back({0, name, "has no points"});
}

void check_id(JsonValue receipt, const std::string& name, std::vector<PublicationFault>& faults) {
  const std::string stated = receipt.at("receipt_id").text;
  std::erase_if(receipt.members, [](const auto& member) { return member.first == "receipt_id"; });
  const std::string actual = sha256_of(receipt_bytes(receipt));
  if (stated != actual) faults.push_back({0, name, "'receipt_id'", actual, stated});
}

void check_artifact_set(const JsonValue& receipt, const std::string& name,
                        std::vector<PublicationFault>& faults) {
  const auto fault = [&](std::string what, std::string expected = {}, std::string found = {}) {
    faults.push_back({0, name, std::move(what), std::move(expected), std::move(found)});
  };
  std::map<std::string, const JsonValue*> listed;
  for (const JsonValue& artifact : receipt.at("artifacts").items) {
    const std::string& id = artifact.at("id").text;
    if (!listed.try_emplace(id, &artifact).second)
      fault(fmt::format("artifact {} occurs twice", id));
  }
  std::set<std::string> needed;
  for (const JsonValue& point : receipt.at("points").items) {
    for (const JsonValue& id : point.at("artifact_ids").items) {
      needed.insert(id.text);
      const auto artifact = listed.find(id.text);
      if (artifact == listed.end()) continue;
      const std::string& run = artifact->second->at("run_id").text;
      if (run == point.at("source_run_id").text) continue;
      fault(fmt::format("the run of artifact {}", id.text), point.at("source_run_id").text, run);
    }
  }
  for (const std::string& id : needed) {
    if (!listed.contains(id)) fault(fmt::format("artifact {} is needed and not listed", id));
  }
  for (const auto& [id, artifact] : listed) {
    if (!needed.contains(id)) fault(fmt::format("artifact {} is listed and not needed", id));
  }
}

}  // namespace

void check_rules(const JsonValue& receipt, const std::string& name,
                 std::vector<PublicationFault>& faults) {
  check_points(receipt, name, faults);
  check_id(receipt, name, faults);
  check_artifact_set(receipt, name, faults);
}

}  // namespace aggregate_power
