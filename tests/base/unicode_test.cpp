// Characters as Python's str methods class them.
#include "aggregate_power/base/unicode.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

TEST(Strip, TakesPythonsWhiteSpaceOffBothEnds) {
  struct Case {
    std::string text;
    std::string stripped;
  };
  const Case cases[] = {
      {"", ""},
      {"  \t\r\n\v\f ", ""},
      {"a b", "a b"},
      {" a b\t", "a b"},
      {"\x1c\x1d\x1e\x1f"
       "a"
       "\x1f",
       "a"},
      {"\xC2\x85"
       "a\xC2\xA0",
       "a"},  // next line, no-break space
      {"\xE3\x80\x80 \xE2\x80\x83 a\xE2\x80\xA8", "a"},
      {"\x0E"
       "a\x1B",
       "\x0E"
       "a\x1B"},
      {"\xE2\x80\x8B"
       "a",
       "\xE2\x80\x8B"
       "a"},                       // zero width space is none
      {" \xC3\xA9 ", "\xC3\xA9"},  // é
      {"\xA0 a", "\xA0 a"},        // half a character
      {"a \x80", "a \x80"},
  };
  for (const Case& c : cases) EXPECT_EQ(strip(c.text), c.stripped);
}

// As Python 3.11 decodes them with errors="replace".
TEST(ReplaceInvalidUtf8, GivesOneReplacementForEachFault) {
  const std::string r = "\xEF\xBF\xBD";
  struct Case {
    std::string bytes;
    std::string text;
  };
  const Case cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"a\x80z", "a" + r + "z"},
      {"\xC0\xAF", r + r},                  // an overlong slash
      {"\xE0\x80\xAF", r + r + r},          // another
      {"\xED\xA0\x80", r + r + r},          // a surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xFF", r},
      {"\xE2\x82z", r + "z"},  // cut short: one fault
      {"\xF0\x9F\x98", r},     // likewise at the end
      {"\xF0\x9F\xC3\xA9", r + "\xC3\xA9"},
  };
  for (const Case& c : cases) EXPECT_EQ(replace_invalid_utf8(c.bytes), c.text);
}

TEST(AsciiDigits, ReadsEveryScript) {
  EXPECT_EQ(ascii_digits("abc 120"), "abc 120");
  EXPECT_EQ(ascii_digits("\xD9\xA1\xD9\xA2"), "12");                  // Arabic-Indic
  EXPECT_EQ(ascii_digits("\xEF\xBC\x90\xEF\xBC\x99"), "09");          // full width
  EXPECT_EQ(ascii_digits("\xF0\x9D\x9F\x98\xF0\x9D\x9F\xA1"), "09");  // double-struck
  EXPECT_EQ(ascii_digits("\xF0\x9D\x9F\xBF"), "9");                   // the last monospace one
  EXPECT_EQ(ascii_digits("\xC2\xB2 \xC3\xA9 \xFF"), "\xC2\xB2 \xC3\xA9 \xFF");
}

TEST(IsDigitString, IsPythonsIsdigit) {
  EXPECT_TRUE(is_digit_string("0"));
  EXPECT_TRUE(is_digit_string("0123456789"));
  EXPECT_TRUE(is_digit_string("1\xD9\xA2"));
  EXPECT_TRUE(is_digit_string("\xC2\xB2"));      // superscript two
  EXPECT_TRUE(is_digit_string("\xE2\x91\xA0"));  // circled one
  EXPECT_FALSE(is_digit_string(""));
  EXPECT_FALSE(is_digit_string("-1"));
  EXPECT_FALSE(is_digit_string("1.0"));
  EXPECT_FALSE(is_digit_string("1 "));
  EXPECT_FALSE(is_digit_string("\xE2\x85\xA0"));  // Roman numeral one
  EXPECT_FALSE(is_digit_string("\xC2\xBD"));      // one half
  EXPECT_FALSE(is_digit_string("1\xFF"));
}

TEST(DecimalNumeral, IsPythonsIntOfDigits) {
  struct Case {
    std::string text;
    std::optional<std::string> numeral;
  };
  const Case cases[] = {
      {"0", "0"},
      {"000", "0"},
      {"007", "7"},
      {"10", "10"},
      {"\xD9\xA0\xD9\xA7", "7"},
      {std::string(5000, '9'), std::string(5000, '9')},
      {"", std::nullopt},
      {"\xC2\xB2", std::nullopt},
      {"1\xC2\xB2", std::nullopt},
      {"-1", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(decimal_numeral(c.text), c.numeral) << c.text;
}

TEST(LowerAscii, LeavesOtherLettersAlone) {
  EXPECT_EQ(lower_ascii("GPU[0] Power_W @Z[`"), "gpu[0] power_w @z[`");
  EXPECT_EQ(lower_ascii("\xC3\x89"), "\xC3\x89");  // É
}

}  // namespace
}  // namespace aggregate_power
