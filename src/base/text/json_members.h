// Values of a JSON text in memory, without building a tree: for texts of which only a few parts
// matter.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/text/json_value.h"

namespace aggregate_power {

struct JsonMemberText {
  JsonKind kind = JsonKind::null;
  std::string_view spelling = {};  // empty: there is no such member

  // Its meaning; for an array or object only the kind.
  JsonValue scalar() const;
  // Python's `if value`.
  bool is_truthy() const;
};

struct WantedMember {
  std::string_view key;
  JsonMemberText& value;
};

// Fills in the members that the object `text` has; the last one counts if a key occurs twice.
// Returns false if it is not an object. Throws JsonError.
bool find_members(std::string_view text, std::initializer_list<WantedMember> wanted);

}  // namespace aggregate_power
