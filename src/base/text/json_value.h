// JSON as a tree of values with Python's semantics, for small files whose every part matters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"

namespace aggregate_power {

struct JsonValue {
  using Member = std::pair<std::string, JsonValue>;

  JsonKind kind = JsonKind::null;
  // The spelling of a number, "true" or "false", or the meaning of a string.
  std::string text = {};
  std::vector<JsonValue> items = {};  // for an array
  // For an object. A key that occurs twice is at its first position, with its last value.
  std::vector<Member> members = {};

  static JsonValue string(std::string text) { return {JsonKind::string, std::move(text)}; }
  static JsonValue integer(std::int64_t value) {
    return {JsonKind::integer, std::to_string(value)};
  }
  static JsonValue real(double value);  // finite
  static JsonValue boolean(bool value) { return {JsonKind::boolean, value ? "true" : "false"}; }
  static JsonValue array() { return {JsonKind::array}; }
  static JsonValue object() { return {JsonKind::object}; }

  bool is_null() const { return kind == JsonKind::null; }
  bool is_string() const { return kind == JsonKind::string; }
  bool is_object() const { return kind == JsonKind::object; }
  bool is_array() const { return kind == JsonKind::array; }
  bool is_number() const { return kind == JsonKind::integer || kind == JsonKind::real; }
  bool is_true() const { return kind == JsonKind::boolean && text == "true"; }

  // The object's member; nullptr if there is none, or if this is not an object.
  const JsonValue* find(std::string_view key) const;
  // The same; a null value if there is none.
  const JsonValue& at(std::string_view key) const;
  // The value of a number, true or false; infinite if too large.
  double as_double() const;
  // Whether it is a number other than NaN and the infinities.
  bool is_finite_number() const;
  // The value of an integer that fits 64 bits.
  std::optional<std::int64_t> as_integer() const;
  // Python's int(): numbers lose their fraction, and texts may be numerals. Returns nullopt if
  // int() raises, and beyond 64 bits.
  std::optional<std::int64_t> to_int() const;
  // Python's `if value`.
  bool is_truthy() const;

  // The value as a message may show it: short, on one line.
  std::string shown() const;
};

// Throws JsonError. Integers of more than 4300 digits are refused, as in Python.
JsonValue parse_json(std::string_view text);

// The first key that occurs twice in an object, as in "metrics.avg_power_w", in a text that was
// parsed without an error; nullopt: none. Programs differ in which of the values counts.
std::optional<std::string> repeated_json_key(std::string_view text);

// Whether Python's == holds: numbers by value, true as 1 and false as 0, NaN never.
bool equal_in_python(const JsonValue& a, const JsonValue& b);

// Whether two JSON texts, both already parsed without an error, are equal after json.dumps() with
// sorted keys: order, blanks and escapes do not matter, 4 and 4.0 differ. Needs little memory
// besides the texts.
bool same_json(std::string_view a, std::string_view b);

// ---- Values of a JSON text in memory, without building a tree: for texts where only a few parts
// matter.

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
