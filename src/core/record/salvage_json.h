// What --salvage found: in the audit record, in the aggregate and for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "base/text/json_patch.h"

namespace aggregate_power::results {

// Whether a run that is not valid lacks nothing but samples: gaps, and cells without a reading. Of
// a package: its recorder refused it for that alone. Contract-october.md 9.3.
bool lacks_only_samples(const Result& result);

// Whether a recording has no other reasons than these; none at all is enough.
bool are_of_samples(const Reasons& reasons);

// The member `salvage` of the record, of a run that has one. `lacks_only`: nothing else was found
// since.
Json salvage_json(const SalvagedEnergy& salvaged, bool lacks_only);

// One line, if there is an energy.
std::optional<std::string> salvage_text(const Result& result);

// The keys of the aggregate, and all that a run may leave.
std::vector<JsonEdit> salvage_edits(const Result& result);
std::vector<std::string_view> salvage_keys();

}  // namespace aggregate_power::results
