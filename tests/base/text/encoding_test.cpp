// Byte-order marks and UTF-16, whole and in small pieces.
#include "base/text/encoding.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace encoding_test {

using namespace std::string_literals;
using test::kWhole;
using test::StutterSource;

std::string decoded(const std::string& bytes, std::size_t most = kWhole) {
  const auto source = as_utf8(std::make_unique<StutterSource>(bytes, most));
  std::string text = read_all(*source);
  std::array<char, 8> more;
  EXPECT_EQ(source->read(more), 0u) << "the end is not the end";
  return text;
}

struct Case {
  const char* what;
  std::string bytes;
  std::string text;
};

const Case kCases[] = {
    {"nothing", "", ""},
    {"one byte", "a", "a"},
    {"two bytes", "ab", "ab"},
    {"plain text", "time,power\n1,2\n", "time,power\n1,2\n"},
    {"Latin-1 as it is", "\xB0"s, "\xB0"s},
    {"a lone FF is no mark", "\xFF"s, "\xFF"s},
    {"a lone FE is no mark", "\xFE"s, "\xFE"s},
    {"two bytes of a UTF-8 mark are no mark", "\xEF\xBB"s, "\xEF\xBB"s},
    {"UTF-8 mark alone", "\xEF\xBB\xBF"s, ""},
    {"UTF-8 mark", "\xEF\xBB\xBFindex,power\n"s, "index,power\n"},
    {"only the first mark is one", "\xEF\xBB\xBF\xEF\xBB\xBFx"s, "\xEF\xBB\xBFx"s},
    {"a mark further on is text", "x\xEF\xBB\xBF"s, "x\xEF\xBB\xBF"s},
    {"NULs pass", "a\0b\n"s, "a\0b\n"s},
    {"little-endian mark alone", "\xFF\xFE"s, ""},
    {"big-endian mark alone", "\xFE\xFF"s, ""},
    {"little-endian", "\xFF\xFE"s + "a\0\n\0"s, "a\n"},
    {"big-endian", "\xFE\xFF"s + "\0a\0\n"s, "a\n"},
    {"UTF-16 without a mark passes as it is", "a\0\n\0"s, "a\0\n\0"s},
    // U+00B0, U+20AC and U+1F50B (D83D DD0B).
    {"two, three and four bytes, little-endian", "\xFF\xFE\xB0\0\xAC\x20\x3D\xD8\x0B\xDD"s,
     "\xC2\xB0\xE2\x82\xAC\xF0\x9F\x94\x8B"},
    {"two, three and four bytes, big-endian", "\xFE\xFF\0\xB0\x20\xAC\xD8\x3D\xDD\x0B"s,
     "\xC2\xB0\xE2\x82\xAC\xF0\x9F\x94\x8B"},
    {"the ends of each length", "\xFF\xFE\x7F\0\x80\0\xFF\x07\0\x08\xFF\xFF"s,
     "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
    {"the ends of the surrogates' range", "\xFF\xFE\0\xD8\0\xDC\xFF\xDB\xFF\xDF"s,
     "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {"a high surrogate alone", "\xFF\xFE\x3D\xD8x\0"s, "\xEF\xBF\xBDx"},
    {"a low surrogate alone", "\xFF\xFE\x0B\xDDx\0"s, "\xEF\xBF\xBDx"},
    {"two high surrogates, then a low one", "\xFF\xFE\x3D\xD8\x3D\xD8\x0B\xDD"s,
     "\xEF\xBF\xBD\xF0\x9F\x94\x8B"},
    {"a high surrogate at the end", "\xFF\xFEx\0\x3D\xD8"s, "x\xEF\xBF\xBD"},
    {"a second UTF-16 mark is a character", "\xFF\xFE\xFF\xFEx\0"s, "\xEF\xBB\xBFx"},
    {"NULs in UTF-16", "\xFF\xFE\0\0x\0"s, "\0x"s},
};

TEST(AsUtf8, ReadsEachEncoding) {
  for (const Case& c : kCases) EXPECT_EQ(decoded(c.bytes), c.text) << c.what;
}

TEST(AsUtf8, GivesTheSameInAnyPieces) {
  for (const Case& c : kCases) {
    for (const std::size_t most : {1, 2, 3, 5}) {
      EXPECT_EQ(decoded(c.bytes, most), c.text) << c.what << ", " << most << " at a time";
    }
  }
}

TEST(AsUtf8, KeepsWhatStandsBeforeAnOddLastByte) {
  // What becomes of half a unit is open; a row that ends in it is torn anyway.
  EXPECT_TRUE(decoded("\xFF\xFE"s + "a\0\n\0x"s).starts_with("a\n"));
}

TEST(AsUtf8, ReadsTextsLongerThanItsBuffers) {
  std::string text;
  std::string utf16 = "\xFF\xFE"s;
  for (int i = 0; i < 100000; ++i) {
    const char c = static_cast<char>('a' + i % 26);
    text += c;
    utf16 += {c, '\0'};
  }
  EXPECT_EQ(decoded(utf16), text);
  EXPECT_EQ(decoded(utf16, 7), text);
  EXPECT_EQ(decoded("\xEF\xBB\xBF" + text), text);
}

}  // namespace encoding_test
}  // namespace aggregate_power
