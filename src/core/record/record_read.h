// Reads what an audit record says. A record is a JSON object; what it does not say reads as
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/column_names.h"
#include "aggregate_power/record_facts.h"
#include "base/text/json_value.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

// Whether a JSON object is an audit record.
bool is_run_record(const JsonValue& content);
// The same for the text of any file.
bool is_record_text(std::string_view text);

// The verdict in an audit record, true or false, or in an aggregate, 1 or 0.
const JsonValue& power_verdict(const JsonValue& content);
bool is_power_valid(const JsonValue& record);

// Everything that says how the run was computed.
const JsonValue& recorded_origin(const JsonValue& record);
Contract recorded_contract(const JsonValue& record);
// The options that were given, each value as its spelling.
std::vector<std::pair<std::string, std::string>> recorded_options(const JsonValue& record);
// The names that were given to the columns of a recording without a header.
ColumnNames recorded_columns(const JsonValue& record);
// The zone in which stamps without an offset were read. `facts`: recorded_origin(), or a host in
// it.
std::optional<Zone> recorded_zone(const JsonValue& facts);
// As the record names it; the telemetry of several nodes is a folder.
const std::string& recorded_telemetry(const JsonValue& record);
// With the path that was given, or for a run in a store with the role, of each.
std::vector<InputFile> recorded_inputs(const JsonValue& record);
// The aggregate as it was left. Returns nullopt if the run is not in a store.
std::optional<InputFile> recorded_patch(const JsonValue& record);
// The hashes of the members of ours that the aggregate had before passes that changed them.
std::vector<std::string> recorded_replacements(const JsonValue& record);
// The codes of the verdicts on its load.
std::vector<std::string> recorded_verdicts(const JsonValue& record);
// The facts of each recording of hosts or nodes; else everything that says how it was computed.
std::vector<const JsonValue*> recorded_recordings(const JsonValue& record);

// What a record has under a key of the aggregate, if it is another number than `value`, which is
// rounded; else nullptr.
const JsonValue* other_recorded_number(const JsonValue& record, std::string_view key, double value);

// The texts in a list; other items are left out.
std::vector<std::string> texts_in(const JsonValue& list);
// Returns nullptr if there is no such input.
const InputFile* input_of_role(const std::vector<InputFile>& inputs, std::string_view role);

// The record of a run in a store, for a backfill.
struct StoredRecord {
  bool valid = false;
  std::vector<std::string> reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::string timezone;
  std::optional<ZoneEvidenceRecord> zone_evidence;
  std::string tool_version;
  Contract contract = Contract::october;
  Sources sources;
  InputFile patched;
};

// Returns nullopt if `text` is not the record of a run in a store.
std::optional<StoredRecord> read_stored_record(std::string_view text);

}  // namespace aggregate_power
