// JSON as a tree of values, and what Python makes of them: for small files whose every part
// matters.
#pragma once

#include <cstdint>
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
  // A number as it is spelled, "true" or "false", or what a string means.
  std::string text = {};
  std::vector<JsonValue> items = {};  // of an array
  // Of an object: a key that is written twice stands where it was first, with its last value.
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

  // Of an object; nullptr when it has no such member, or is no object.
  const JsonValue* find(std::string_view key) const;
  // The same; null when there is none.
  const JsonValue& at(std::string_view key) const;
  // A number, true or false; too large: infinite.
  double as_double() const;
  // A number other than NaN and the infinities.
  bool is_finite_number() const;
  // An integer within 64 bits.
  std::optional<std::int64_t> as_integer() const;
  // As int() has it: numbers lose their fraction, and texts may be numerals. Nothing where that
  // raises, and beyond 64 bits.
  std::optional<std::int64_t> to_int() const;
  // What Python's `if value` asks.
  bool is_truthy() const;

  // As a message may show it: short, on one line.
  std::string shown() const;
};

// Throws JsonError. Integers of more than 4300 digits are refused, as Python does.
JsonValue parse_json(std::string_view text);

// Whether Python's == holds: numbers by value, true as 1 and false as 0, NaN never.
bool equal_in_python(const JsonValue& a, const JsonValue& b);

// Whether two JSON texts, each parsed already without an error, are the same once json.dumps() has
// written them with sorted keys: order, blanks and escapes do not matter, 4 and 4.0 differ. Needs
// little memory beside the texts.
bool same_json(std::string_view a, std::string_view b);

}  // namespace aggregate_power
