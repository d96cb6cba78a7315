// Serializes JSON values.
#include "verify/sweep/json_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace {

// Python reads -0 as the integer 0.
std::string integer_text(const std::string& spelling) { return spelling == "-0" ? "0" : spelling; }

std::string escape_of(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      return fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
}

bool is_escaped(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// The character that begins at text[at], which is well formed but may be a lone surrogate; `at`
// moves past it.
char32_t take_character(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = size == 1 ? first : first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) character = character << 6 | (byte(at + i) & 0x3FU);
  at += size;
  return character;
}

std::string ascii_string(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      is_escaped(c) || c == '\x7F' ? quoted += escape_of(c) : quoted += c;
      ++at;
      continue;
    }
    const char32_t character = take_character(text, at);
    if (character < 0x10000) {
      quoted += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character));
    } else {
      const std::uint32_t rest = character - 0x10000;
      quoted += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
  }
  return quoted + '"';
}

std::string utf8_string(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = take_character(text, at);
    if (character >= 0xD800 && character < 0xE000) {
      throw Error("a text contains half a character, which UTF-8 cannot express");
    }
    is_escaped(text[begin]) ? quoted += escape_of(text[begin])
                            : quoted.append(text, begin, at - begin);
  }
  return quoted + '"';
}

std::string scalar_text(const JsonValue& value) {
  if (value.kind == JsonKind::null) return "null";
  if (value.kind == JsonKind::boolean) return value.text;
  return integer_text(value.text);
}

void add_receipt_value(const JsonValue& value, std::string& out) {
  if (value.is_string()) {
    out += utf8_string(value.text);
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) out += ',';
      add_receipt_value(value.items[i], out);
    }
    out += ']';
  } else if (value.is_object()) {
    std::vector<const JsonValue::Member*> members;
    for (const JsonValue::Member& member : value.members) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return member->first; });
    out += '{';
    for (const JsonValue::Member* const member : members) {
      if (member != members.front()) out += ',';
      out += utf8_string(member->first) + ':';
      add_receipt_value(member->second, out);
    }
    out += '}';
  } else if (value.kind == JsonKind::real) {
    throw Error(
        fmt::format("{} is not an integer, and a receipt has no other numbers", value.shown()));
  } else {
    out += scalar_text(value);
  }
}

void add_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

void add_indented(const JsonValue& value, std::size_t depth, std::string& out) {
  const bool is_object = value.is_object();
  const std::size_t size = is_object ? value.members.size() : value.items.size();
  if (value.is_string()) {
    out += ascii_string(value.text);
  } else if (is_object || value.is_array()) {
    out += is_object ? '{' : '[';
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out += ',';
      add_line(out, depth + 1);
      if (is_object) out += ascii_string(value.members[i].first) + ": ";
      add_indented(is_object ? value.members[i].second : value.items[i], depth + 1, out);
    }
    if (size > 0) add_line(out, depth);
    out += is_object ? '}' : ']';
  } else if (value.kind == JsonKind::real) {
    if (!value.is_finite_number()) throw Error(value.shown() + " is not a number of JSON");
    out += json_number(value.as_double());
  } else {
    out += scalar_text(value);
  }
}

}  // namespace

std::string receipt_bytes(const JsonValue& value) {
  std::string bytes;
  add_receipt_value(value, bytes);
  return bytes;
}

std::string indented_json(const JsonValue& value) {
  std::string text;
  add_indented(value, 0, text);
  return text + '\n';
}

}  // namespace aggregate_power
