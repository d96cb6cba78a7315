// How the zone of a run of a store was found, as JSON of its record, and back.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "aggregate_power/provenance.h"

namespace aggregate_power {

nlohmann::ordered_json zone_evidence_json(const ZoneEvidenceRecord& evidence);

// From the record's `computed_from` and `benchmark_window`; nothing where it says nothing of its
// zone. Throws nlohmann::json::exception or Error for what no record says.
std::optional<ZoneEvidenceRecord> zone_evidence_in(const nlohmann::ordered_json& window,
                                                   const nlohmann::ordered_json& computed_from,
                                                   bool is_valid);

}  // namespace aggregate_power
