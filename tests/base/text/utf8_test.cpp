// Which bytes are characters. Expected values are the Unicode Standard's tables 3-7 and 3-8.
#include "base/text/characters.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace utf8_test {

TEST(FirstCharacter, HasItsCodeOrTheSizeOfTheFault) {
  struct Case {
    std::string_view text;
    std::size_t size;
    std::optional<char32_t> code;
  };
  const Case cases[] = {
      {"ab", 1, U'a'},
      {"\xC3\xA9x", 2, U'\u00E9'},
      {"\xE2\x82\xAC", 3, U'\u20AC'},
      {"\xF0\x9F\x98\x80", 4, U'\U0001F600'},
      {"\xF4\x8F\xBF\xBF", 4, U'\U0010FFFF'},
      {"\x80", 1, std::nullopt},              // a tail alone
      {"\xC1\x81", 1, std::nullopt},          // 'A' in two bytes
      {"\xE0\x80\x80", 1, std::nullopt},      // a longer form than needed
      {"\xED\xA0\x80", 1, std::nullopt},      // a surrogate
      {"\xF4\x90\x80\x80", 1, std::nullopt},  // beyond U+10FFFF
      {"\xE2\x82", 2, std::nullopt},          // cut off
      {"\xE2\x82x", 2, std::nullopt},
      {"\xFF", 1, std::nullopt},
  };
  for (const Case& c : cases) {
    const Utf8Character found = first_character(c.text);
    EXPECT_EQ(found.size, c.size) << c.text;
    EXPECT_EQ(found.code, c.code) << c.text;
  }
}

TEST(IsUtf8, IsWhetherAllOfATextIsCharacters) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_utf8("\xC3\xA9 \xEF\xBF\xBD"));
  EXPECT_FALSE(is_utf8("a\xE9"));
  EXPECT_FALSE(is_utf8("\xC3\xA9\xC3"));
}

}  // namespace utf8_test
}  // namespace aggregate_power
