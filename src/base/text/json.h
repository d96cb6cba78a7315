// Reads JSON as Python's json module does, checked in one pass, and patches a text without touching
// anything but the members named.
//
// Accepted: RFC 8259 plus the bare words NaN, Infinity and -Infinity; duplicate keys; lone
// surrogate escapes. Refused: a byte-order mark, invalid UTF-8 (overlong forms and encoded
// surrogates included), control characters inside strings, trailing bytes, and more than
// kMaxJsonDepth levels of nesting.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"

namespace aggregate_power {

inline constexpr int kMaxJsonDepth = 1000;

// A syntax error: `line` and `column` count from 1, `column` in characters (code points).
class JsonError : public std::exception {
 public:
  JsonError(std::uint64_t line, std::uint64_t column, std::string_view message);
  const char* what() const noexcept override { return text_.c_str(); }  // "LINE:COLUMN: message"
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

 private:
  std::uint64_t line_;
  std::uint64_t column_;
  std::string text_;
};

enum class JsonKind { null, boolean, integer, real, string, array, object };
// `integer` has neither point nor exponent; NaN and the infinities are `real`.

// One member of the top-level object, as encountered. Offsets are bytes from the start of the text.
struct JsonMember {
  std::string_view key;  // escapes decoded, a lone surrogate as three bytes as if it were a
                         // character; empty, with `key_kept` false, if over 256 bytes long
  bool key_kept = true;
  JsonKind kind = JsonKind::null;
  std::string_view scalar;  // the spelling of a number, true, false or null; empty for others, and
                            // for numbers of more than 5000 bytes
  std::uint64_t key_begin = 0;  // at the key's opening quote
  std::uint64_t key_end = 0;    // just past its closing quote
  std::uint64_t value_begin = 0;
  std::uint64_t value_end = 0;  // just past the value
};

// The kind of the top-level value, and the span of an object's braces.
struct JsonDocument {
  JsonKind kind = JsonKind::null;
  std::uint64_t begin = 0;  // where the value starts
  std::uint64_t end = 0;    // just past it
};

// Reads all of `source` in one pass and in memory that does not grow with it (at most 2 MiB), and
// calls `on_member` for each member of a top-level object, in order; the views in it are valid only
// during the call. Throws JsonError at the first fault, or what `source` throws.
JsonDocument scan_json(ByteSource& source, const std::function<void(const JsonMember&)>& on_member);

// The meaning of a string: `spelling` is the text between its quotes, known to be valid. A lone
// surrogate becomes three bytes as if it were a character.
std::string unescaped_json(std::string_view spelling);

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

// A finite number as Python's repr writes it: the shortest digits that read back to the same
// double, always with a point or an exponent: 600.0, 1e-05, 1e+16.
std::string json_number(double value);

}  // namespace aggregate_power
