// Edits an aggregate and its record without computing anything.
#include "core/record/withdrawal.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "base/report/json_parts.h"
#include "base/system/byte_source.h"
#include "base/text/json.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"

namespace aggregate_power {
namespace {

// CPU power has a verdict of its own.
void withdraw_cpu(Json& record, const char* key, Json& retracted) {
  if (!record.contains(key) || !record[key].is_object()) return;
  Json& cpu = record[key];
  retracted[key] = {{"cpu_power_valid", cpu["cpu_power_valid"]},
                    {"reason_codes", cpu["reason_codes"]},
                    {"metrics", cpu["metrics"]}};
  cpu["cpu_power_valid"] = false;
  cpu["reason_codes"] = {code(Reason::retracted)};
  cpu["metrics"] = Json::object();
}

std::string one_line_json(std::string_view spelled) {
  const Json json = Json::parse(spelled, nullptr, false);
  if (json.is_discarded()) return {};  // NaN
  if (spelled.find('\n') == std::string_view::npos) return std::string(spelled);
  return line_text(json);
}

}  // namespace

std::vector<JsonEdit> withdrawing_edits(const JsonValue& aggregate, const JsonValue& record) {
  if (record.at("integration_method").text != "mean_of_sample_buckets") {
    return edits_of_withdrawn(aggregate.find("cpu_power_valid") != nullptr);
  }
  std::vector<JsonEdit> edits;
  for (const auto& [key, value] : record.at("metrics").members) edits.push_back({key, ""});
  return edits;
}

std::string withdrawn_record(std::string_view record, const std::vector<std::string>& where,
                             std::string_view aggregate) {
  Json json = Json::parse(record, nullptr, false);
  if (!json.is_object()) throw Error("is not an audit record any more");
  Json retracted = {{"where", where},
                    {"tool_version", AGGREGATE_POWER_VERSION},
                    {"reasons", json["reasons"]},
                    {"metrics", json["metrics"]}};
  withdraw_cpu(json, "cpu_power", retracted);
  withdraw_cpu(json, "cpu", retracted);
  json[kPowerValid] = false;
  json["reasons"] = {code(Reason::retracted)};
  json["metrics"] = Json::object();
  if (json[kComputedFrom].contains("patched")) {
    const InputFile patched = hashed_text(aggregate);
    json[kComputedFrom]["patched"] = {{"bytes", patched.bytes}, {"xxh3_128", patched.hash}};
  }
  json["retracted"] = std::move(retracted);
  return indented_text(json);
}

bool is_withdrawn(std::string_view record) {
  if (record.find("\"retracted\"") == std::string_view::npos) return false;
  bool is_found = false;
  try {
    MemorySource source(record);
    scan_json(source, [&](const JsonMember& member) {
      is_found |= member.key == "retracted" && member.kind == JsonKind::object;
    });
  } catch (const JsonError&) {  // no record at all
    return false;
  }
  return is_found;
}

std::vector<JsonEdit> members_of_ours(std::string_view aggregate) {
  std::vector<JsonEdit> members;
  MemorySource source(aggregate);
  scan_json(source, [&](const JsonMember& member) {
    if (!member.key_kept || !is_our_key(member.key)) return;
    std::erase_if(members, [&](const JsonEdit& edit) { return edit.key == member.key; });
    std::string value =
        one_line_json(aggregate.substr(member.value_begin, member.value_end - member.value_begin));
    if (!value.empty()) members.push_back({std::string(member.key), std::move(value)});
  });
  return members;
}

std::string members_text(const std::vector<JsonEdit>& members) {
  std::string text;
  for (const JsonEdit& member : members) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",",
                        line_text(member.key, JsonCharacters::utf8), member.value);
  }
  return fmt::format("{{{}}}", text);
}

bool claim_nothing(const std::vector<JsonEdit>& members) {
  return std::ranges::all_of(members, [](const JsonEdit& member) {
    return member.key == "power_metric_schema_version" ||
           (member.key == kPowerValid && member.value == "0");
  });
}

std::vector<JsonEdit> restoring_edits(std::string_view aggregate,
                                      const std::vector<JsonEdit>& earlier) {
  std::vector<JsonEdit> edits = earlier;
  for (const JsonEdit& now : members_of_ours(aggregate)) {
    if (std::ranges::find(edits, now.key, &JsonEdit::key) == edits.end()) {
      edits.push_back({now.key, ""});
    }
  }
  return edits;
}

}  // namespace aggregate_power
