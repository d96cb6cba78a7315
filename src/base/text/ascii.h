// ASCII characters.
#pragma once

#include <algorithm>
#include <string_view>

namespace aggregate_power {

inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// At least one digit, and nothing else.
inline bool is_ascii_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_ascii_digit);
}

// The number in two digits.
inline int two_digits(const char* digits) { return (digits[0] - '0') * 10 + (digits[1] - '0'); }

inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace aggregate_power
