// Values of a JSON text that is in memory, without a tree: for texts of which a few parts matter.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/text/json_value.h"

namespace aggregate_power {

struct JsonMemberText {
  JsonKind kind = JsonKind::null;
  std::string_view spelling = {};  // empty: there is no such member

  // What it means; of an array or object the kind alone.
  JsonValue scalar() const;
  // What Python's `if value` asks.
  bool is_truthy() const;
};

struct WantedMember {
  std::string_view key;
  JsonMemberText& value;
};

// Fills in the members that the object `text` has; of a key that is there twice the last counts.
// False: it is no object. Throws JsonError.
bool find_members(std::string_view text, std::initializer_list<WantedMember> wanted);

}  // namespace aggregate_power
