// What a receipt must say of itself, whatever its archives hold; contract-october.md 5.4.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "publication/verification.h"

namespace aggregate_power {

// Its points, its own digest, and the set of its artifacts. `receipt` comes from shaped_receipt(),
// without a fault. May throw Error.
void check_rules(const JsonValue& receipt, const std::string& name,
                 std::vector<PublicationFault>& faults);

}  // namespace aggregate_power
