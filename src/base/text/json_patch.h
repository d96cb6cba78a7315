// Patches a JSON text without touching anything but the members named.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

// One change to a top-level object.
struct JsonEdit {
  std::string key;    // plain, without escapes; at most 256 bytes
  std::string value;  // the JSON text to set, without blanks around it; empty: remove the member
};

// `text` with the edits made and every other byte unchanged. If a key occurs more than once, the
// first occurrence is replaced and the others are removed. Missing keys are appended in the order
// of `edits`, laid out like the text's own members (its line breaks, indentation, and blanks after
// commas and colons). Repeating the edits changes nothing. `edits` names each key at most once.
// Throws JsonError if `text` is not JSON (position given) or not an object (1:1).
std::string patch_json(std::string_view text, std::span<const JsonEdit> edits);

}  // namespace aggregate_power
