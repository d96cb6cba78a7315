// Tables of keys, one for each kind of object in a receipt.
#include "verify/receipt/receipt.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/files/hash.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

struct Key {
  std::string_view name;
  std::string_view expected;  // for people
  bool (*fits)(const JsonValue& value) = nullptr;
  std::span<const Key> members = {};  // of an object, or of each in a list of objects
  std::string_view if_absent = {};    // as JSON; empty: it must be there
};
using Shape = std::span<const Key>;

bool is_text(const JsonValue& value) { return value.is_string(); }
bool is_digest(const JsonValue& value) { return is_text(value) && is_lower_hex(value.text, 64); }
bool is_commit(const JsonValue& value) { return is_text(value) && is_lower_hex(value.text, 40); }
bool is_run_id(const JsonValue& value) {
  return is_text(value) && is_ascii_digits(value.text) && value.text[0] != '0';
}
bool is_count(const JsonValue& value) {
  return value.kind == JsonKind::integer && value.as_integer().value_or(0) >= 0 &&
         !value.text.starts_with('-');
}
bool is_number_above_0(const JsonValue& value) { return is_count(value) && value.text != "0"; }
bool is_1(const JsonValue& value) { return is_count(value) && value.text == "1"; }
template <bool (*fits)(const JsonValue&)>
bool is_list_of(const JsonValue& value) {
  return value.is_array() && std::ranges::all_of(value.items, fits);
}
template <bool (*fits)(const JsonValue&)>
bool is_or_null(const JsonValue& value) {
  return value.is_null() || fits(value);
}
template <bool (*fits)(const JsonValue&)>
bool is_object_of(const JsonValue& value) {
  return value.is_object() &&
         std::ranges::all_of(value.members, [](const auto& member) { return fits(member.second); });
}
bool is_text_or_integer(const JsonValue& value) {
  return is_text(value) || value.kind == JsonKind::integer;
}
bool is_kind(const JsonValue& value) { return value.text == "throughput" || value.text == "eval"; }
bool is_format(const JsonValue& value) {
  return value.text == "normalized" || value.text == "lm-eval";
}
bool is_aiperf(const JsonValue& value) { return is_text(value) && value.text == "aiperf-1.4"; }
bool is_agentx(const JsonValue& value) { return is_text(value) && value.text == "agentx-v1"; }
bool is_aggregate(const JsonValue& value) { return is_text(value) && value.text == "aggregate"; }
bool is_receipt(const JsonValue& value) {
  return is_text(value) && value.text == "source-measurement-receipt";
}
bool is_record(const JsonValue& value) {
  return is_text(value) && value.text == "publication-record";
}

constexpr std::string_view kText = "a text";
constexpr std::string_view kDigest = "64 lower-case hexadecimal digits";
constexpr std::string_view kCommit = "40 lower-case hexadecimal digits";
constexpr std::string_view kRunId = "a run's number as a text";
constexpr std::string_view kPositive = "a whole number above 0";
constexpr std::string_view kObject = "an object";
constexpr std::string_view kObjects = "a list of objects";

constexpr Key kTopology[] = {{"kind", "'aggregate'", is_aggregate},
                             {"nodes", "1", is_1},
                             {"serving_gpus", kPositive, is_number_above_0},
                             {"tp", kPositive, is_number_above_0},
                             {"ep", kPositive, is_number_above_0}};
constexpr Key kContracts[] = {{"raw", "'aiperf-1.4'", is_aiperf},
                              {"normalized", "'agentx-v1'", is_agentx},
                              {"publication", "1", is_1}};
constexpr Key kIssuer[] = {{"repository", kText, is_text},
                           {"run_id", kRunId, is_run_id},
                           {"job", kText, is_text},
                           {"workflow_sha", kCommit, is_commit},
                           {"collector_sha", kCommit, is_commit}};
constexpr Key kMember[] = {
    {"path", kText, is_text}, {"sha256", kDigest, is_digest}, {"size", "a whole number", is_count}};
constexpr Key kArtifact[] = {{"id", kPositive, is_number_above_0},
                             {"name", kText, is_text},
                             {"sha256", kDigest, is_digest},
                             {"run_id", kRunId, is_run_id},
                             {"members", kObjects, nullptr, kMember}};
constexpr Key kPoint[] = {
    {"point_id", kDigest, is_digest},
    {"bundle_digest", kDigest, is_digest},
    {"execution_id", kText, is_text},
    {"source_run_id", kRunId, is_run_id},
    {"source_attempt", kPositive, is_number_above_0},
    {"kind", "'throughput' or 'eval'", is_kind},
    {"concurrency", kPositive, is_number_above_0},
    {"topology", kObject, nullptr, kTopology},
    {"artifact_ids", "a list of whole numbers above 0", is_list_of<is_number_above_0>},
    {"execution_artifact_id", kPositive, is_number_above_0},
    {"execution_path", kText, is_text},
    {"native_manifest_sha256", kDigest, is_digest},
    {"normalized_artifact_id", kPositive, is_number_above_0},
    {"normalized_path", kText, is_text},
    {"normalized_format", "'normalized' or 'lm-eval'", is_format, {}, "\"normalized\""},
    {"metadata_path", "a text or null", is_or_null<is_text>, {}, "null"},
    {"required_metrics", "a list of texts", is_list_of<is_text>},
    {"config", "an object of texts", is_object_of<is_text>},
    {"task", "a text or null", is_or_null<is_text>, {}, "null"},
    {"filters", "a list of texts", is_list_of<is_text>, {}, "[]"},
    {"sample_count", "a whole number", is_count, {}, "0"},
    {"samples_artifact_id",
     "a whole number above 0, or null",
     is_or_null<is_number_above_0>,
     {},
     "null"},
    {"samples_path", "a text or null", is_or_null<is_text>, {}, "null"},
    {"dataset",
     "an object of texts and whole numbers",
     is_object_of<is_text_or_integer>,
     {},
     "{}"}};
constexpr Key kReceipt[] = {{"kind", "'source-measurement-receipt'", is_receipt},
                            {"version", "1", is_1},
                            {"receipt_id", kDigest, is_digest},
                            {"repository", kText, is_text},
                            {"source_run_id", kRunId, is_run_id},
                            {"source_attempt", kPositive, is_number_above_0},
                            {"source_head_sha", kCommit, is_commit},
                            {"bundle_digest", kDigest, is_digest},
                            {"contracts", kObject, nullptr, kContracts},
                            {"points", kObjects, nullptr, kPoint},
                            {"issuer", kObject, nullptr, kIssuer},
                            {"artifacts", kObjects, nullptr, kArtifact}};
constexpr Key kPublicationRecord[] = {{"kind", "'publication-record'", is_record},
                                      {"version", "1", is_1},
                                      {"receipt_id", kDigest, is_digest},
                                      {"receipt_artifact_id", kPositive, is_number_above_0},
                                      {"receipt_artifact_sha256", kDigest, is_digest},
                                      {"source_run_id", kRunId, is_run_id},
                                      {"merge_run_id", kRunId, is_run_id},
                                      {"merge_sha", kCommit, is_commit},
                                      {"changelog_artifact_id", kPositive, is_number_above_0},
                                      {"changelog_artifact_sha256", kDigest, is_digest},
                                      {"ingest_sha", kCommit, is_commit},
                                      {"app_sha", kCommit, is_commit}};

struct ShapeFaults {
  const std::string& name;  // of the file
  std::vector<PublicationFault>& all;

  void add(const std::string& place, std::string expected, std::string found) const {
    all.push_back({0, name, fmt::format("'{}'", place), std::move(expected), std::move(found)});
  }
};

bool is_list_of_objects(const JsonValue& value) {
  return value.is_array() && std::ranges::all_of(value.items, &JsonValue::is_object);
}

JsonValue shaped(const JsonValue& value, Shape shape, const std::string& place,
                 const ShapeFaults& faults) {
  const auto shape_member = [&](JsonValue& member, const Key& key, const std::string& below) {
    const bool is_list = key.expected == kObjects;
    const bool fits = key.fits != nullptr ? key.fits(member)
                      : is_list           ? is_list_of_objects(member)
                                          : member.is_object();
    if (!fits) {
      faults.add(below, std::string(key.expected), member.shown());
    } else if (is_list) {
      for (std::size_t i = 0; i < member.items.size(); ++i) {
        member.items[i] =
            shaped(member.items[i], key.members, fmt::format("{}[{}].", below, i), faults);
      }
    } else if (!key.members.empty()) {
      member = shaped(member, key.members, below + ".", faults);
    }
  };
  JsonValue result = value;
  for (const JsonValue::Member& member : value.members) {
    if (std::ranges::find(shape, member.first, &Key::name) != shape.end()) continue;
    faults.add(place + printable(member.first), "no such key", member.second.shown());
  }
  for (const Key& key : shape) {
    const std::string below = place + std::string(key.name);
    const auto member = std::ranges::find(result.members, key.name, &JsonValue::Member::first);
    if (member != result.members.end()) {
      shape_member(member->second, key, below);
    } else if (key.if_absent.empty()) {
      faults.add(below, std::string(key.expected), "nothing");
    } else {
      result.members.emplace_back(std::string(key.name), parse_json(key.if_absent));
    }
  }
  return result;
}

}  // namespace

JsonValue shaped_receipt(const JsonValue& receipt, const std::string& name,
                         std::vector<PublicationFault>& faults) {
  return shaped(receipt, kReceipt, "", {name, faults});
}

JsonValue shaped_publication_record(const JsonValue& record, const std::string& name,
                                    std::vector<PublicationFault>& faults) {
  return shaped(record, kPublicationRecord, "", {name, faults});
}

}  // namespace aggregate_power
