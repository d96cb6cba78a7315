// Cells of lines against splitting them character by character.
#include "base/text/line_cells.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/line_parts.h"
#include "test_util.h"

namespace aggregate_power {
namespace line_cells_test {

std::vector<std::string> cells_one_by_one(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

// Empty: it was not split.
std::vector<std::string> all_of(LineCells& cells, const std::string& line, char behind) {
  const std::string text = line + std::string(kLineSlack, behind);
  std::vector<std::string> all;
  if (!cells.split(std::string_view(text).substr(0, line.size()))) return all;
  for (std::size_t i = 0; i < cells.size(); ++i) all.emplace_back(cells[i]);
  return all;
}

TEST(LineCells, AreThoseBetweenCommas) {
  LineCells cells;
  using Cells = std::vector<std::string>;
  for (const char behind : {',', '"', '\n'}) {
    EXPECT_EQ(all_of(cells, "a,,b c,", behind), Cells({"a", "", "b c", ""}));
    EXPECT_EQ(all_of(cells, "", behind), Cells({""}));
  }
}

TEST(LineCells, AreNotThereWhereAQuoteOrAControlCharacterIs) {
  LineCells cells;
  for (const char odd : {'"', '\r', '\t', '\0'}) {
    EXPECT_EQ(all_of(cells, "1,2", 'x').size(), 2u);
    EXPECT_TRUE(all_of(cells, std::string("1,") + odd, 'x').empty());
    EXPECT_EQ(all_of(cells, "1,3", 'x').back(), "3") << "in the same places as before";
  }
}

TEST(LineCells, AreTheSameAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  LineCells cells;
  for (int i = 0; i < test::rounds(50'000); ++i) {
    const std::string characters = i % 2 == 0 ? "ab ,;" : "abcdefghijklmnop\x80\xFF ,";
    std::string line(dice.below(200), ' ');
    for (char& c : line) c = characters[dice.below(characters.size())];
    for (const char behind : {',', '"'}) {
      ASSERT_EQ(all_of(cells, line, behind), cells_one_by_one(line))
          << line << ", TEST_SEED=" << seed;
      const std::uint64_t layout = cells.layout();
      // The same places, other letters.
      std::ranges::replace(line, 'a', 'z');
      ASSERT_EQ(all_of(cells, line, behind), cells_one_by_one(line))
          << line << ", TEST_SEED=" << seed;
      ASSERT_EQ(cells.layout(), layout) << line << ", TEST_SEED=" << seed;
    }
  }
}

}  // namespace line_cells_test
}  // namespace aggregate_power
