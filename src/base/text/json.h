// Reads JSON as Python's json module does, checked in one pass.
//
// Accepted: RFC 8259 plus the bare words NaN, Infinity and -Infinity; duplicate keys; lone
// surrogate escapes. Refused: a byte-order mark, invalid UTF-8 (overlong forms and encoded
// surrogates included), control characters inside strings, trailing bytes, and more than
// kMaxJsonDepth levels of nesting.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_source.h"
#include "base/text/json_paths.h"

namespace aggregate_power {

inline constexpr int kMaxJsonDepth = 1000;

// A syntax error: `line` and `column` count from 1, `column` in characters (code points).
class JsonError : public std::exception {
 public:
  JsonError(std::uint64_t line, std::uint64_t column, std::string_view message);
  const char* what() const noexcept override { return text_.c_str(); }  // "LINE:COLUMN: message"
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }
  // The same `lines` below.
  JsonError moved_by(std::uint64_t lines) const { return {line_ + lines, column_, message_}; }

 private:
  std::uint64_t line_;
  std::uint64_t column_;
  std::string message_;
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
  std::string_view text;    // the value as written, of any kind; empty if over 5000 bytes
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

// Receives what lies on wanted paths. `path` counts from 0 in the order of the paths.
class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;
  // The key of a member that a "*" stands for, before its value; cut off after 256 bytes. For
  // wanted paths only that end in "*".
  virtual void key(std::size_t /*path*/, std::string_view /*key*/) {}
  // An object or array that is itself a wanted path.
  virtual void begin(std::size_t path) = 0;
  virtual void end(std::size_t path) = 0;
  // `text` is a string's meaning, or the spelling of a number, true, false or null; empty, with a
  // null data(), if that has more than 5000 bytes.
  virtual void scalar(std::size_t path, JsonKind kind, std::string_view text) = 0;
};

enum class JsonTexts { one, several };  // several: one after the other, as in JSON lines

// Reads all of `source` like scan_json(), and visits what lies on `paths`. Returns the number of
// values at the top. Throws JsonError at the first fault, or what `source` throws.
std::uint64_t walk_json(ByteSource& source, const JsonPaths& paths, JsonVisitor& visitor,
                        JsonTexts texts);

// The meaning of a string: `spelling` is the text between its quotes, known to be valid. A lone
// surrogate becomes three bytes as if it were a character.
std::string unescaped_json(std::string_view spelling);

// A finite number as Python's repr writes it: the shortest digits that read back to the same
// double, always with a point or an exponent: 600.0, 1e-05, 1e+16.
std::string json_number(double value);

}  // namespace aggregate_power
