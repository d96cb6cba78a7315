// The content of an earlier run's audit record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/provenance.h"

namespace aggregate_power {

struct PastRecord {
  bool valid = false;
  std::vector<std::string> reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::string timezone;
  std::optional<ZoneEvidenceRecord> zone_evidence;
  std::string tool_version;
  Contract contract = Contract::october;
  Sources sources;
  InputFile patched;  // the aggregate as it was left
};

// Returns nullopt if `text` is not the record of a run in a store.
std::optional<PastRecord> parse_record(std::string_view text);

}  // namespace aggregate_power
