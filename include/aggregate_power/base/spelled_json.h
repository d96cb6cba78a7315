// Values of a JSON text that is in memory, and what Python makes of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/base/json.h"

namespace aggregate_power {

struct SpelledJson {
  JsonKind kind = JsonKind::null;
  std::string_view spelling;  // empty: there is no such member
};

struct WantedMember {
  std::string_view key;
  SpelledJson& value;
};

// Fills in the members that the object `text` has; of a key that is there twice the last counts.
// False: it is no object. Throws JsonError.
bool find_members(std::string_view text, std::initializer_list<WantedMember> wanted);

// Nothing when it is no string, or holds half a surrogate pair.
std::optional<std::string> text_of(const SpelledJson& value);

// As bool() has it: what is empty or zero is false.
bool is_truthy(const SpelledJson& value);

// As int() has it: numbers lose their fraction, and texts may be numerals. Nothing where that
// raises, and beyond 64 bits.
std::optional<std::int64_t> whole_number(const SpelledJson& value);

}  // namespace aggregate_power
