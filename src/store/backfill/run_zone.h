// What a stored run tells the other runs of its recorder about their zone.
#pragma once

#include <optional>
#include <string_view>

#include "aggregate_power/record_facts.h"
#include "store/backfill/pairing.h"
#include "store/catalogue/stored_run.h"
#include "store/backfill/zone_cases.h"

namespace aggregate_power {

// Returns nullopt if the run has no window. `aggregate` is the aggregate's text.
std::optional<ZoneCase> zone_case_of(const StoredRun& run, std::string_view aggregate,
                                     const Pairing& pairing);

// The same for a run that is up to date, from its record.
ZoneCase past_zone_case(const StoredRun& run, const ZoneEvidenceRecord& evidence);

}  // namespace aggregate_power
