// Classifies characters as Python's str methods do (Unicode 14, CPython 3.11). Text is UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace aggregate_power
