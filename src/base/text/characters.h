// Classifies characters as Python's str methods do (Unicode 14, CPython 3.11). Text is UTF-8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/lists.h"

namespace aggregate_power {

// str.strip(): removes Unicode white space, including \x1c-\x1f, \x85 and no-break spaces, from
// both ends.
std::string_view strip_any(std::string_view text);
[[gnu::always_inline]] inline std::string_view strip(std::string_view text) {
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty() || (is_plain(text.front()) && is_plain(text.back()))) return text;
  return strip_any(text);
}

// Bytes that are not UTF-8 become U+FFFD, as in decoding with errors="replace".
std::string replace_invalid_utf8(std::string_view bytes);

// Replaces every decimal digit (category Nd) of any script with its ASCII digit; the rest is
// unchanged.
std::string ascii_digits(std::string_view text);

// str.isdigit(): at least one character, and all of them digits, including superscripts.
bool is_digit_string(std::string_view text);

// int(text) for a text of decimal digits of any script, as a decimal ASCII numeral without leading
// zeros ("0" for zero). Returns nullopt if some character is not a decimal digit (a superscript).
std::optional<std::string> decimal_numeral(std::string_view text);

// A text from a file as a message may show it on one line of a terminal: at most `most_characters`,
// then "..."; bytes that are not text become U+FFFD, and '?' what does more than to be seen:
// control characters (C0, DEL, C1), separators of lines, and those that change the direction of
// writing. Characters that are not seen are spelled, as in "<U+200B>".
std::string printable(std::string_view text, std::size_t most_characters = 64);

// The same, but all of it: names of files and folders may contain anything, even line breaks.
std::string one_line(std::string_view text);

// The same for scripts: bytes that are not UTF-8 stay as they are.
std::string without_controls(std::string_view text);

// A text in the form that a shell takes for one word.
std::string shell_word(std::string_view text);

// ASCII letters in lower case; everything else is unchanged.
std::string lower_ascii(std::string_view text);

// The parts of a text that has `between` between any two, at least one; views of it.
std::vector<std::string_view> separated(std::string_view text, char between = ' ');

// ---- ASCII characters.

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

// ---- Characters in UTF-8 bytes.

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
