// Lines laid out alike against comparing them character by character.
#include "base/text/alike_lines.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/line_parts.h"
#include "test_util.h"

namespace aggregate_power {
namespace alike_lines_test {

using Lines = std::vector<std::string>;

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// How many of `lines` are taken behind the first one, which is noted twice: no more than `most`.
std::size_t taken_of(AlikeLines& alike, const Lines& lines, std::size_t most = 1000) {
  const std::string text = joined(lines) + std::string(kLineSlack, 'x');
  const std::string_view first = std::string_view(text).substr(0, lines[0].size());
  const std::string_view behind =
      std::string_view(text).substr(first.size(), text.size() - first.size() - kLineSlack);
  alike.note(first, 1);
  alike.note(first, 1);
  Lines taken;
  const std::size_t bytes = alike.take_front(behind, [&](const char* line) {
    if (taken.size() == most) return false;
    taken.emplace_back(line, lines[0].size());
    return true;
  });
  EXPECT_EQ(bytes, taken.size() * lines[0].size());
  for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], lines[i + 1]);
  return taken.size();
}

TEST(AlikeLines, HaveTheSameSeparatorsInTheSamePlaces) {
  for (const std::string other :
       {"1,2 b\n", "1 2,b\n", "1,2\tb\n", "1,2 \n\n", "12,3 b\n", "1,\"b c\n", "1,23\n,2"}) {
    AlikeLines alike;
    const bool is_alike = other == "1,2 b\n";
    EXPECT_EQ(taken_of(alike, {"x,y z\n", "7,8 9\n", other, "a,b c\n"}), is_alike ? 3u : 1u)
        << other;
  }
}

TEST(AlikeLines, AreThoseThatAreWhole) {
  AlikeLines alike;
  EXPECT_EQ(taken_of(alike, {"ab,c\n", "12,3\n", "45,6"}), 1u);
}

TEST(AlikeLines, AreTakenUpToOneThatIsRefused) {
  const Lines lines(500, "1,2\r\n");
  for (const std::size_t most : {0, 1, 2, 100, 498, 499}) {
    AlikeLines alike;
    EXPECT_EQ(taken_of(alike, lines, most), most);
  }
}

TEST(AlikeLines, AreNotLookedForWhereLayoutsChange) {
  const std::string text = "1,2\n3,4\n" + std::string(kLineSlack, 'x');
  const std::string_view line = std::string_view(text).substr(0, 4);
  const auto count = [&](AlikeLines& alike) {
    return alike.take_front(std::string_view(text).substr(4, 4), [](const char*) { return true; });
  };
  AlikeLines alike;
  alike.note(line, 1);
  EXPECT_EQ(count(alike), 0u);
  alike.note(line, 2);
  EXPECT_EQ(count(alike), 0u);
  alike.note(line, 2);
  EXPECT_EQ(count(alike), 4u);
}

// One that has the same layout by its words, but is indented otherwise, is learned again.
TEST(AlikeLines, AreLikeTheOneThatWasNotedLast) {
  AlikeLines alike;
  EXPECT_EQ(taken_of(alike, {" 1,2\n", " 3,4\n", "1,22\n"}), 1u);
  EXPECT_EQ(taken_of(alike, {"  1,2\n", "  3,4\n", " 3,44\n"}), 1u);
}

TEST(AlikeLines, AreTheSameAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const auto shape = [](std::string text) {
    for (char& c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte > ' ' && c != ',' && c != '"') c = 'x';
    }
    return text;
  };
  std::size_t all = 0;
  const int rounds = test::rounds(20'000);
  for (int i = 0; i < rounds; ++i) {
    std::string line(1 + dice.below(150), ' ');
    for (char& c : line) c = "abc019\x80\xFF, "[dice.below(10)];
    line.back() = '\n';
    Lines lines;
    for (std::size_t k = 1 + dice.below(8); k > 0; --k) {
      lines.push_back(line);
      for (char& c : lines.back()) {
        if (shape(std::string(1, c)) == "x") c = "xyz789\xFE"[dice.below(7)];
        if (dice.one_in(600)) c = "a, \t\n\"\r"[dice.below(7)];
      }
    }
    std::size_t wanted = 0;
    while (wanted + 1 < lines.size() && shape(lines[wanted + 1]) == shape(lines[0])) ++wanted;
    AlikeLines alike;
    ASSERT_EQ(taken_of(alike, lines), wanted) << joined(lines) << ", TEST_SEED=" << seed;
    all += wanted;
  }
  EXPECT_GT(all, static_cast<std::size_t>(rounds / 2));
}

}  // namespace alike_lines_test
}  // namespace aggregate_power
