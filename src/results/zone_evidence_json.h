// How the zone of a run in a store was found: to the record's JSON, and back.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "aggregate_power/provenance.h"

namespace aggregate_power {

nlohmann::ordered_json zone_evidence_json(const ZoneEvidenceRecord& evidence);

// From the record's `computed_from` and `benchmark_window`. Returns nullopt if they do not mention
// the zone. Throws nlohmann::json::exception or Error if no record of ours could contain them.
std::optional<ZoneEvidenceRecord> zone_evidence_in(const nlohmann::ordered_json& window,
                                                   const nlohmann::ordered_json& computed_from,
                                                   bool is_valid);

}  // namespace aggregate_power
