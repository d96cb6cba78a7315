// Characters in UTF-8 bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace aggregate_power {

// The bytes that may follow a lead byte, from the Unicode Standard's table of well-formed UTF-8. A
// third and a fourth byte are from 0x80 to 0xBF.
struct Utf8Sequence {
  std::size_t size = 0;  // 0: not a lead byte
  unsigned char second_from = 0x80;
  unsigned char second_to = 0xBF;
};

inline Utf8Sequence utf8_sequence(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};  // shorter forms exist below
  if (lead == 0xED) return {3, 0x80, 0x9F};  // surrogates above
  if (lead < 0xF0) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4};
  if (lead == 0xF4) return {4, 0x80, 0x8F};  // beyond U+10FFFF
  return {};
}

struct Utf8Character {
  std::size_t size;              // bytes; for a fault, those that become one U+FFFD
  std::optional<char32_t> code;  // nullopt for a fault
};

// The first character of a text that is not empty.
Utf8Character first_character(std::string_view text);

// Whether a text has no fault.
bool is_utf8(std::string_view text);

inline bool is_utf8_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace aggregate_power
