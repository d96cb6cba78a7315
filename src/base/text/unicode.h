// Characters as Python's str methods class them (Unicode 14, CPython 3.11). Text is UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// str.strip(): Unicode white space, \x1c-\x1f, \x85 and no-break spaces included, off both ends.
std::string_view strip(std::string_view text);

// Bytes that are not UTF-8 become U+FFFD, as decoding with errors="replace" does it.
std::string replace_invalid_utf8(std::string_view bytes);

// Every decimal digit (category Nd) of any script as its ASCII digit; the rest as it is.
std::string ascii_digits(std::string_view text);

// str.isdigit(): at least one character and all of them digits, superscripts included.
bool is_digit_string(std::string_view text);

// int(text) for a text of decimal digits of any script, as a decimal ASCII numeral without leading
// zeros ("0" for zero). Nothing when some character is not a decimal digit (a superscript).
std::optional<std::string> decimal_numeral(std::string_view text);

// A text out of a file as a message may show it on one line of a terminal: at most so many
// characters, then "..."; bytes that are no text become U+FFFD, and control characters '?'.
std::string printable(std::string_view text, std::size_t most_characters = 64);

// The same, and all of it: names of files and folders may hold anything, line breaks too.
std::string one_line(std::string_view text);

// A text as a shell takes it for one word.
std::string shell_word(std::string_view text);

// ASCII letters in lower case; everything else as it is.
std::string lower_ascii(std::string_view text);

}  // namespace aggregate_power
