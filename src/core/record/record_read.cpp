// Reads the members of an audit record that others need than the one who wrote it.
#include "core/record/record_read.h"

#include <algorithm>
#include <cmath>

#include "aggregate_power/error.h"
#include "base/system/byte_source.h"
#include "core/record/record_write.h"

namespace aggregate_power {
namespace {

InputFile file_in(std::string role, const JsonValue& json) {
  return {std::move(role), static_cast<std::uint64_t>(json.at("bytes").as_integer().value_or(0)),
          json.at("xxh3_128").text};
}

RecordedOption option_in(const std::string& name, const JsonValue& value) {
  if (value.kind == JsonKind::boolean) return {name, value.is_true()};
  if (value.kind == JsonKind::integer) return {name, value.as_integer().value_or(0)};
  if (value.kind == JsonKind::real) return {name, value.as_double()};
  return {name, value.text};
}

double required_number(const JsonValue& json) {
  if (!json.is_finite_number()) throw Error("a number is missing");
  return json.as_double();
}

// Throws Error if no record of ours could say that.
std::optional<ZoneEvidenceRecord> zone_evidence_in(const JsonValue& record) {
  const JsonValue& from = recorded_origin(record);
  if (from.find("timezone_evidence") == nullptr) return std::nullopt;
  const JsonValue& json = from.at("timezone_evidence");
  ZoneEvidenceRecord evidence;
  evidence.report.level = level_of(json.at("level").text);
  for (const JsonValue& witness : json.at("witnesses").items) {
    evidence.report.witnesses.push_back(witness_of(witness.text));
  }
  evidence.report.rivals = texts_in(json.at("rivals"));
  evidence.recorder = json.at("recorder").text;
  const bool is_stated = is_power_valid(record) &&
                         std::ranges::count(evidence.report.witnesses, ZoneWitness::zone_file) > 0;
  if (!is_stated && json.find("load_power_w") == nullptr) return evidence;
  ZoneVote& vote = evidence.vote.emplace();
  vote.start_unix_s = required_number(record.at("benchmark_window").at("start_time_unix"));
  vote.offset_s = Zone::parse(from.at("utc_offset").text).offset_at(0);
  vote.is_stated = is_stated;
  if (is_stated) return evidence;
  vote.idle_w = required_number(json.at("idle_power_w"));
  vote.load_w = required_number(json.at("load_power_w"));
  return evidence;
}

// Only the members that a backfill compares: this is all the work for a run that is up to date.
JsonValue compared_members(std::string_view text) {
  constexpr std::string_view kCompared[] = {kPowerValid,        "reasons",
                                            "telemetry_source", "benchmark_result",
                                            "benchmark_window", kComputedFrom};
  JsonValue record = JsonValue::object();
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    if (std::ranges::find(kCompared, member.key) == std::end(kCompared)) return;
    std::erase_if(record.members, [&](const auto& other) { return other.first == member.key; });
    record.members.emplace_back(
        member.key,
        parse_json(text.substr(member.value_begin, member.value_end - member.value_begin)));
  });
  return record;
}

}  // namespace

bool is_run_record(const JsonValue& content) {
  return power_verdict(content).kind == JsonKind::boolean && content.at("reasons").is_array() &&
         (content.find(kComputedFrom) != nullptr || content.find("window_source") != nullptr ||
          content.find("benchmark_window") != nullptr);
}

bool is_record_text(std::string_view text) {
  constexpr std::string_view kSigns[] = {kPowerValid, "reasons", kComputedFrom, "window_source",
                                         "benchmark_window"};
  JsonValue record = JsonValue::object();
  MemorySource source(text);
  try {
    scan_json(source, [&](const JsonMember& member) {
      if (std::ranges::find(kSigns, member.key) == std::end(kSigns)) return;
      record.members.emplace_back(
          member.key,
          parse_json(text.substr(member.value_begin, member.value_end - member.value_begin)));
    });
  } catch (const JsonError&) {  // a record that broke off; the members before it are there
  }
  return is_run_record(record);
}

const JsonValue& power_verdict(const JsonValue& content) { return content.at(kPowerValid); }

bool is_power_valid(const JsonValue& record) { return power_verdict(record).is_true(); }

const JsonValue& recorded_origin(const JsonValue& record) { return record.at(kComputedFrom); }

Contract recorded_contract(const JsonValue& record) {
  return contract_named(recorded_origin(record).at("contract").text);
}

std::vector<std::pair<std::string, std::string>> recorded_options(const JsonValue& record) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& [name, value] : recorded_origin(record).at("options").members) {
    options.emplace_back(name, value.text);
  }
  return options;
}

ColumnNames recorded_columns(const JsonValue& record) {
  ColumnNames columns;
  for (const JsonValue& name : recorded_origin(record).at("columns").items) {
    columns.all.push_back(name.text);
  }
  return columns;
}

std::optional<Zone> recorded_zone(const JsonValue& facts) {
  const JsonValue& name = facts.at("timezone");
  const JsonValue& offset = facts.at("utc_offset");
  try {
    // "local" was the zone of another machine.
    if (name.text == "local" && offset.is_string()) return Zone::parse(offset.text);
    if (name.is_string() && name.text != "local") return Zone::parse(name.text);
  } catch (const Error&) {  // what only people can read
    if (offset.is_string()) return Zone::parse(offset.text);
  }
  return std::nullopt;
}

const std::string& recorded_telemetry(const JsonValue& record) {
  const JsonValue& named = record.at("telemetry_source");
  return named.is_string() ? named.text : recorded_origin(record).at("telemetry_source").text;
}

std::vector<InputFile> recorded_inputs(const JsonValue& record) {
  std::vector<InputFile> inputs;
  for (const auto& [role, file] : recorded_origin(record).at("inputs").members) {
    inputs.push_back(file_in(role, file));
  }
  return inputs;
}

std::optional<InputFile> recorded_patch(const JsonValue& record) {
  const JsonValue& patched = recorded_origin(record).at("patched");
  return patched.is_object() ? std::optional(file_in({}, patched)) : std::nullopt;
}

std::vector<std::string> recorded_replacements(const JsonValue& record) {
  return texts_in(recorded_origin(record).at("patched").at("replaced"));
}

std::vector<std::string> recorded_verdicts(const JsonValue& record) {
  std::vector<std::string> verdicts;
  for (const JsonValue& verdict : record.at("uncertainty").at("verdicts").items) {
    verdicts.push_back(verdict.at("code").text);
  }
  return verdicts;
}

std::vector<const JsonValue*> recorded_recordings(const JsonValue& record) {
  std::vector<const JsonValue*> recordings;
  for (const char* const hosts : {"hosts", "nodes"}) {
    for (const auto& [name, host] : recorded_origin(record).at(hosts).members) {
      recordings.push_back(&host);
    }
  }
  if (recordings.empty()) recordings.push_back(&recorded_origin(record));
  return recordings;
}

const JsonValue* other_recorded_number(const JsonValue& record, std::string_view key,
                                       double value) {
  const double half_last_digit = key.starts_with("joules_") ? 5e-7 : 5e-4;
  const double most = 1.01 * half_last_digit + 1e-12 * std::abs(value);
  for (const JsonValue* const recorded :
       {&record.at("metrics").at(key), &record.at("uncertainty").at(key).at("published")}) {
    if (!recorded->is_finite_number()) continue;
    if (std::abs(value - recorded->as_double()) > most) return recorded;
  }
  return nullptr;
}

std::vector<std::string> texts_in(const JsonValue& list) {
  std::vector<std::string> texts;
  for (const JsonValue& item : list.items) {
    if (item.is_string()) texts.push_back(item.text);
  }
  return texts;
}

const InputFile* input_of_role(const std::vector<InputFile>& inputs, std::string_view role) {
  return find_item(inputs, role, &InputFile::role);
}

std::optional<StoredRecord> read_stored_record(std::string_view text) {
  try {
    const JsonValue record = compared_members(text);
    const auto patched = recorded_patch(record);
    if (!is_run_record(record) || !patched) return std::nullopt;
    const JsonValue& from = recorded_origin(record);
    StoredRecord stored;
    stored.valid = is_power_valid(record);
    stored.reasons = texts_in(record.at("reasons"));
    stored.telemetry_source = recorded_telemetry(record);
    stored.benchmark_result = record.at("benchmark_result").text;
    stored.timezone = from.at("timezone").text;
    stored.zone_evidence = zone_evidence_in(record);
    stored.tool_version = from.at("tool_version").text;
    stored.contract = recorded_contract(record);
    stored.sources.is_of_store = true;
    stored.sources.inputs = recorded_inputs(record);
    for (const auto& [name, value] : from.at("options").members) {
      stored.sources.options.push_back(option_in(name, value));
    }
    stored.patched = *patched;
    return stored;
  } catch (const std::exception&) {  // JsonError; Error: what no record of ours says
    return std::nullopt;
  }
}

}  // namespace aggregate_power
