// Writes JSON values in the two forms that publications have.
#pragma once

#include <string>

#include "base/text/json_value.h"

namespace aggregate_power {

// The canonical bytes of a receipt, contract-october.md 5.4: keys sorted, no blanks, UTF-8 as it
// is. Throws Error for a number that is not an integer, and for text that is not UTF-8. (The
// canonical form that ties a result to its package, contract.md C.6, escapes and is another.)
std::string receipt_bytes(const JsonValue& value);

// As json.dumps(value, indent=2) writes it: ASCII, numbers as Python prints them, a line break at
// the end. Throws Error for NaN and the infinities.
std::string indented_json(const JsonValue& value);

}  // namespace aggregate_power
