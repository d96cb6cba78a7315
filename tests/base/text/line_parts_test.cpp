// Words of lines against splitting them character by character.
#include "base/text/line_parts.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace line_parts_test {

std::vector<std::string> words_one_by_one(std::string_view line) {
  std::vector<std::string> words;
  bool is_in_word = false;
  for (const char c : line) {
    const bool is_between = c == ' ' || c == '\t' || c == ',';
    if (!is_between && !is_in_word) words.emplace_back();
    if (!is_between) words.back() += c;
    is_in_word = !is_between;
  }
  return words;
}

template <typename Parts>
std::vector<std::string> all_of(Parts& parts, const std::string& line, char behind) {
  const std::string text = line + std::string(kLineSlack, behind);
  parts.split(std::string_view(text).substr(0, line.size()));
  std::vector<std::string> all;
  for (std::size_t i = 0; i < parts.size(); ++i) all.emplace_back(parts[i]);
  return all;
}

TEST(LineParts, AreThoseBetweenTheSeparators) {
  LineWords<' ', '\t', ','> words;
  using Parts = std::vector<std::string>;
  EXPECT_EQ(all_of(words, "  20260425   12:00:00\t0,, 310 ", 'x'),
            Parts({"20260425", "12:00:00", "0", "310"}));
  EXPECT_EQ(all_of(words, "", 'x'), Parts());
  EXPECT_EQ(all_of(words, " ,", 'x'), Parts());
}

TEST(LineParts, AreTheSameAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  std::mt19937_64 random(seed);
  LineWords<' ', '\t', ','> words;
  for (int i = 0; i < test::rounds(50'000); ++i) {
    const std::string characters = i % 2 == 0 ? "ab ,\t" : "abcdefghijklmnop\x80\xFF ,";
    std::string line(random() % 200, ' ');
    for (char& c : line) c = characters[random() % characters.size()];
    for (const char behind : {',', 'x'}) {
      ASSERT_EQ(all_of(words, line, behind), words_one_by_one(line))
          << line << ", TEST_SEED=" << seed;
      // The same places, other letters.
      std::ranges::replace(line, 'a', 'z');
      ASSERT_EQ(all_of(words, line, behind), words_one_by_one(line))
          << line << ", TEST_SEED=" << seed;
    }
  }
}

TEST(LineParts, ReachFromOneWordToAnother) {
  LineWords<' '> words;
  const std::string text = " a  bc d" + std::string(kLineSlack, '\0');
  words.split(std::string_view(text).substr(0, 8));
  EXPECT_EQ(words.from_to(0, 1), "a  bc");
  EXPECT_EQ(words.from_to(2, 2), "d");
}

TEST(LineParts, AreInTheSamePlacesOfALineLikeIt) {
  LineWords<' '> words;
  const std::string text = "a bc d\n1 23 4\n" + std::string(kLineSlack, '\0');
  words.split(std::string_view(text).substr(0, 6));
  const std::uint64_t layout = words.layout();
  EXPECT_NE(layout, 0u);
  words.move_to(text.data() + 7);
  EXPECT_EQ(words[1], "23");
  words.split(std::string_view(text).substr(7, 6));
  EXPECT_EQ(words.layout(), layout);
  words.split(std::string_view(text).substr(7, 4));
  EXPECT_NE(words.layout(), layout);
}

TEST(SameText, IsThatOfAllBytes) {
  const std::uint64_t seed = test::fresh_seed();
  std::mt19937_64 random(seed);
  for (std::size_t size = 0; size < 40; ++size) {
    std::string one(size, ' ');
    for (char& c : one) c = static_cast<char>(random());
    EXPECT_TRUE(same_text(one, std::string(one)));
    EXPECT_FALSE(same_text(one, one + "x"));
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = one;
      other[i] = static_cast<char>(other[i] ^ 1 << random() % 8);
      EXPECT_FALSE(same_text(one, other)) << "byte " << i << " of " << size;
    }
  }
}

}  // namespace line_parts_test
}  // namespace aggregate_power
