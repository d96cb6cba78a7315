// Character classes of Python's str methods. The tables were made with Python 3.11's unicodedata
// (Unicode 14.0.0).
#include "base/text/characters.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The zero of each script that has decimal digits (category Nd); its other nine digits follow it.
constexpr char32_t kZeros[] = {
    0x00030, 0x00660, 0x006F0, 0x007C0, 0x00966, 0x009E6, 0x00A66, 0x00AE6, 0x00B66, 0x00BE6,
    0x00C66, 0x00CE6, 0x00D66, 0x00DE6, 0x00E50, 0x00ED0, 0x00F20, 0x01040, 0x01090, 0x017E0,
    0x01810, 0x01946, 0x019D0, 0x01A80, 0x01A90, 0x01B50, 0x01BB0, 0x01C40, 0x01C50, 0x0A620,
    0x0A8D0, 0x0A900, 0x0A9D0, 0x0A9F0, 0x0AA50, 0x0ABF0, 0x0FF10, 0x104A0, 0x10D30, 0x11066,
    0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0,
    0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2,
    0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0};

struct Range {
  char32_t first;
  char32_t last;
};

// Digits for isdigit() that int() refuses: superscripts, circled ones, digits without a zero.
constexpr Range kOtherDigits[] = {
    {0x000B2, 0x000B3}, {0x000B9, 0x000B9}, {0x01369, 0x01371}, {0x019DA, 0x019DA},
    {0x02070, 0x02070}, {0x02074, 0x02079}, {0x02080, 0x02089}, {0x02460, 0x02468},
    {0x02474, 0x0247C}, {0x02488, 0x02490}, {0x024EA, 0x024EA}, {0x024F5, 0x024FD},
    {0x024FF, 0x024FF}, {0x02776, 0x0277E}, {0x02780, 0x02788}, {0x0278A, 0x02792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

constexpr Range kSpaces[] = {{0x0009, 0x000D}, {0x001C, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0},
                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                             {0x205F, 0x205F}, {0x3000, 0x3000}};

// C0, DEL and C1 controls, the Arabic letter mark, marks of direction, separators of lines and
// paragraphs, embeddings, overrides and isolates (Unicode 14, annex 9).
constexpr Range kControls[] = {{0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C},
                               {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

// What is not seen, and may make two names look alike: Default_Ignorable_Code_Point (Unicode 14),
// and the marks of annotations.
constexpr Range kInvisible[] = {
    {0x000AD, 0x000AD}, {0x0034F, 0x0034F}, {0x0115F, 0x01160}, {0x017B4, 0x017B5},
    {0x0180B, 0x0180F}, {0x0200B, 0x0200D}, {0x02060, 0x02065}, {0x0206A, 0x0206F},
    {0x03164, 0x03164}, {0x0FE00, 0x0FE0F}, {0x0FEFF, 0x0FEFF}, {0x0FFA0, 0x0FFA0},
    {0x0FFF0, 0x0FFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool contains(const auto& ranges, char32_t code) {
  const auto range = std::ranges::lower_bound(ranges, code, {}, &Range::last);
  return range != std::end(ranges) && code >= range->first;
}

bool is_control(char32_t code) { return code < 0x7F ? code < 0x20 : contains(kControls, code); }

// How a character is shown that does more, or less, than to be seen; empty: as itself.
std::string shown_otherwise(char32_t code) {
  if (is_control(code)) return "?";
  if (code < kInvisible[0].first || !contains(kInvisible, code)) return {};
  return fmt::format("<U+{:04X}>", static_cast<std::uint32_t>(code));
}

bool is_space(char32_t code) { return contains(kSpaces, code); }

std::optional<char> decimal_digit(char32_t code) {
  const auto* const after = std::ranges::upper_bound(kZeros, code);
  if (after == std::begin(kZeros) || code > after[-1] + 9) return std::nullopt;
  return static_cast<char>('0' + (code - after[-1]));
}

// The last character of a text that is not empty: goes back over at most three continuation bytes.
Utf8Character last_character(std::string_view text) {
  std::size_t size = 1;
  while (size < 4 && size < text.size() && is_utf8_continuation(text[text.size() - size])) ++size;
  const Utf8Character character = first_character(text.substr(text.size() - size));
  return character.size == size ? character : Utf8Character{1, std::nullopt};
}

// Calls `take` with each character's bytes and code until it returns false. Returns whether it
// never did.
bool all_characters(std::string_view text, const auto& take) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!take(text.substr(0, character.size), character.code)) return false;
    text.remove_prefix(character.size);
  }
  return true;
}

}  // namespace

std::string_view strip_any(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.code || !is_space(*character.code)) break;
    text.remove_prefix(character.size);
  }
  while (!text.empty()) {
    const Utf8Character character = last_character(text);
    if (!character.code || !is_space(*character.code)) break;
    text.remove_suffix(character.size);
  }
  return text;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  if (is_ascii(bytes)) return std::string(bytes);
  std::string text;
  text.reserve(bytes.size());
  all_characters(bytes, [&](std::string_view character, std::optional<char32_t> code) {
    text += code ? character : kReplacement;
    return true;
  });
  return text;
}

std::string ascii_digits(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  all_characters(text, [&](std::string_view character, std::optional<char32_t> code) {
    const std::optional<char> digit = code ? decimal_digit(*code) : std::nullopt;
    digit ? result.push_back(*digit) : static_cast<void>(result += character);
    return true;
  });
  return result;
}

bool is_digit_string(std::string_view text) {
  return !text.empty() && all_characters(text, [](std::string_view, std::optional<char32_t> code) {
    return code && (decimal_digit(*code) || contains(kOtherDigits, *code));
  });
}

std::optional<std::string> decimal_numeral(std::string_view text) {
  std::string digits = ascii_digits(text);
  if (!is_ascii_digits(digits)) return std::nullopt;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return digits;
}

std::string printable(std::string_view text, std::size_t most_characters) {
  std::string shown;
  std::size_t characters = 0;
  const bool is_whole = all_characters(text, [&](std::string_view character, auto code) {
    if (++characters > most_characters) return false;
    const std::string other = code ? shown_otherwise(*code) : std::string(kReplacement);
    shown += other.empty() ? character : other;
    return true;
  });
  return is_whole ? shown : shown + "...";
}

std::string one_line(std::string_view text) { return printable(text, text.size()); }

std::string without_controls(std::string_view text) {
  std::string shown;
  all_characters(text, [&](std::string_view character, auto code) {
    const std::string other = code ? shown_otherwise(*code) : std::string();
    shown += other.empty() ? character : other;
    return true;
  });
  return shown;
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_ascii_digit(c) ||
           std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + '\'';
}

std::vector<std::string_view> separated(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(between); end != text.npos; end = text.find(between)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// ---- Decodes and checks UTF-8.

Utf8Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const Utf8Sequence sequence = utf8_sequence(lead);
  if (sequence.size == 0) return {1, std::nullopt};
  if (sequence.size == 1) return {1, lead};

  char32_t code = lead & (0x7Fu >> sequence.size);
  for (std::size_t i = 1; i < sequence.size; ++i) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    const bool fits = i == 1 ? byte >= sequence.second_from && byte <= sequence.second_to
                             : byte >= 0x80 && byte <= 0xBF;
    if (!fits) return {i, std::nullopt};
    code = code << 6 | (byte & 0x3F);
  }
  return {sequence.size, code};
}

bool is_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.code) return false;
    text.remove_prefix(character.size);
  }
  return true;
}

}  // namespace aggregate_power
