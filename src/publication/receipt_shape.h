// The keys of receipts and publication records, and what each may hold; contract-october.md 5.4.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "publication/verification.h"

namespace aggregate_power {

// Both check a whole record: unknown keys, missing keys and wrong values are faults, which name
// the file. Keys that may be absent are added with what they then mean.
JsonValue shaped_receipt(const JsonValue& receipt, const std::string& name,
                         std::vector<PublicationFault>& faults);
JsonValue shaped_publication_record(const JsonValue& record, const std::string& name,
                                    std::vector<PublicationFault>& faults);

}  // namespace aggregate_power
