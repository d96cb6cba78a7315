// Characters as Python's str methods class them.
#include "base/text/characters.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace unicode_test {

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
      {"\034\035\036\037a\037", "a"},
      {"\u0085a\u00A0", "a"},  // next line, no-break space
      {"\u3000 \u2003 a\u2028", "a"},
      {"\016a\033", "\016a\033"},
      {"\u200Ba", "\u200Ba"},  // zero width space is none
      {" \u00E9 ", "\u00E9"},
      {"\xA0 a", "\xA0 a"},  // half a character
      {"a \x80", "a \x80"},
  };
  for (const Case& c : cases) EXPECT_EQ(strip(c.text), c.stripped);
}

TEST(Printable, FitsOnALineOfATerminal) {
  const struct {
    std::string text;
    std::string display;
  } cases[] = {
      {"", ""},
      {"power.draw [W]", "power.draw [W]"},
      {"tim\033[31me\nFAKE\x7F", "tim?[31me?FAKE?"},
      {"\u0085\u009B2Jé", "??2Jé"},
      {"caf\xE9", "caf\uFFFD"},
      {std::string(64, 'x'), std::string(64, 'x')},
      {std::string(65, 'x'), std::string(64, 'x') + "..."},
  };
  for (const auto& c : cases) EXPECT_EQ(printable(c.text), c.display);
  std::string long_text, cut;
  for (int i = 0; i < 70; ++i) long_text += "\u00E9";
  for (int i = 0; i < 64; ++i) cut += "\u00E9";
  EXPECT_EQ(printable(long_text), cut + "...") << "characters are not cut in half";
}

TEST(OneLine, CutsNothing) {
  const std::string name(1000, 'x');
  EXPECT_EQ(one_line(name + "\n\xFF" + name), name + "?\uFFFD" + name);
  EXPECT_EQ(one_line(""), "");
}

TEST(OneLine, HasNothingThatDoesMoreThanToBeSeen) {
  const std::string_view kHarmful[] = {"\x01",   "\x1B",   "\t",     "\x7F",   "\u0080", "\u009B",
                                       "\u009F", "\u061C", "\u200E", "\u200F", "\u2028", "\u2029",
                                       "\u202A", "\u202E", "\u2066", "\u2069"};
  for (const std::string_view text : kHarmful) {
    EXPECT_EQ(one_line(text), "?");
    EXPECT_EQ(without_controls(text), "?");
  }
  for (const std::string_view text :
       {"\u00A0", "\u00AC", "\u00AE", "\u061B", "\u2010", "\u2027", "\u202F", "\u2070", "\u3163",
        "\u3165", "\uFDFF", "\uFE10", "\uFFFC", "\U000E1000"}) {
    EXPECT_EQ(one_line(text), text);
  }
  EXPECT_EQ(without_controls("a\xFF\x9B\n"), "a\xFF\x9B?") << "for scripts, bytes stay";
}

TEST(OneLine, SpellsWhatIsNotSeen) {
  for (const auto& [text, shown] :
       std::vector<std::pair<std::string_view, std::string>>{{"\u00AD", "<U+00AD>"},
                                                             {"\u034F", "<U+034F>"},
                                                             {"\u1160", "<U+1160>"},
                                                             {"\u180E", "<U+180E>"},
                                                             {"\u200B", "<U+200B>"},
                                                             {"\u200D", "<U+200D>"},
                                                             {"\u2060", "<U+2060>"},
                                                             {"\u2064", "<U+2064>"},
                                                             {"\u206A", "<U+206A>"},
                                                             {"\u3164", "<U+3164>"},
                                                             {"\uFE00", "<U+FE00>"},
                                                             {"\uFE0F", "<U+FE0F>"},
                                                             {"\uFEFF", "<U+FEFF>"},
                                                             {"\uFFA0", "<U+FFA0>"},
                                                             {"\uFFF9", "<U+FFF9>"},
                                                             {"\U000E0000", "<U+E0000>"},
                                                             {"\U000E0041", "<U+E0041>"},
                                                             {"\U000E007F", "<U+E007F>"},
                                                             {"\U000E01EF", "<U+E01EF>"}}) {
    EXPECT_EQ(one_line(text), shown);
    EXPECT_EQ(without_controls(text), shown);
  }
  EXPECT_EQ(printable("gpu\u200B0", 5), "gpu<U+200B>0") << "each is one character";
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
      {"\u00E9 \u20AC \U0001F600", "\u00E9 \u20AC \U0001F600"},
      {"a\x80z", "a" + r + "z"},
      {"\xC0\xAF", r + r},                  // an overlong slash
      {"\xE0\x80\xAF", r + r + r},          // another
      {"\xED\xA0\x80", r + r + r},          // a surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xFF", r},
      {"\xE2\x82z", r + "z"},  // cut short: one fault
      {"\xF0\x9F\x98", r},     // likewise at the end
      {"\xF0\x9F\u00E9", r + "\u00E9"},
  };
  for (const Case& c : cases) EXPECT_EQ(replace_invalid_utf8(c.bytes), c.text);
}

TEST(AsciiDigits, ReadsEveryScript) {
  EXPECT_EQ(ascii_digits("abc 120"), "abc 120");
  EXPECT_EQ(ascii_digits("\u0661\u0662"), "12");          // Arabic-Indic
  EXPECT_EQ(ascii_digits("\uFF10\uFF19"), "09");          // full width
  EXPECT_EQ(ascii_digits("\U0001D7D8\U0001D7E1"), "09");  // double-struck
  EXPECT_EQ(ascii_digits("\U0001D7FF"), "9");             // the last monospace one
  EXPECT_EQ(ascii_digits("\u00B2 \u00E9 \xFF"), "\u00B2 \u00E9 \xFF");
}

TEST(IsDigitString, IsPythonsIsdigit) {
  EXPECT_TRUE(is_digit_string("0"));
  EXPECT_TRUE(is_digit_string("0123456789"));
  EXPECT_TRUE(is_digit_string("1\u0662"));
  EXPECT_TRUE(is_digit_string("\u00B2"));  // superscript two
  EXPECT_TRUE(is_digit_string("\u2460"));  // circled one
  EXPECT_FALSE(is_digit_string(""));
  EXPECT_FALSE(is_digit_string("-1"));
  EXPECT_FALSE(is_digit_string("1.0"));
  EXPECT_FALSE(is_digit_string("1 "));
  EXPECT_FALSE(is_digit_string("\u2160"));  // Roman numeral one
  EXPECT_FALSE(is_digit_string("\u00BD"));  // one half
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
      {"\u0660\u0667", "7"},
      {std::string(5000, '9'), std::string(5000, '9')},
      {"", std::nullopt},
      {"\u00B2", std::nullopt},
      {"1\u00B2", std::nullopt},
      {"-1", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(decimal_numeral(c.text), c.numeral) << c.text;
}

TEST(LowerAscii, LeavesOtherLettersAlone) {
  EXPECT_EQ(lower_ascii("GPU[0] Power_W @Z[`"), "gpu[0] power_w @z[`");
  EXPECT_EQ(lower_ascii("\u00C9"), "\u00C9");  // É
}

TEST(ShellWord, IsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(shell_word("node-1.rack_2=-5"), "node-1.rack_2=-5");
  EXPECT_EQ(shell_word("host 3=-5"), "'host 3=-5'");
  EXPECT_EQ(shell_word("o'neil=1"), "'o'\\''neil=1'");
  EXPECT_EQ(shell_word("$(x)"), "'$(x)'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace unicode_test
}  // namespace aggregate_power
