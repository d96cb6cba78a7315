// Misspelt words and what they probably mean.
#include "base/text/suggest.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace nearest_test {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  const struct {
    const char* a;
    const char* b;
    std::size_t distance;
  } cases[] = {
      {"", "", 0},
      {"", "abc", 3},
      {"abc", "", 3},
      {"abc", "abc", 0},
      {"abc", "abd", 1},
      {"abc", "ab", 1},
      {"abc", "abcd", 1},
      {"abc", "acb", 1},
      {"ca", "abc", 3},  // of optimal string alignment; unrestricted swaps would need two edits
      {"kitten", "sitting", 3},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(edit_distance(one.a, one.b), one.distance) << one.a << ' ' << one.b;
    EXPECT_EQ(edit_distance(one.b, one.a), one.distance) << one.b << ' ' << one.a;
  }
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"--csv", "--bench-result", "--agg-result", "--json"};
  EXPECT_EQ(nearest("--bench-reslt", known), "--bench-result");
  EXPECT_EQ(nearest("-bench-result", known), "--bench-result");
  EXPECT_EQ(nearest("--bench_result", known), "--bench-result");
  EXPECT_EQ(nearest("--CSV", known), "--csv");
  EXPECT_EQ(nearest("--jsno", known), "--json");
}

TEST(Nearest, ProposesNothingThatIsTooDifferent) {
  const std::vector<std::string> known = {"--csv", "--bench-result"};
  EXPECT_EQ(nearest("--cvx", known), std::nullopt);  // two of three letters would change
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), known), std::nullopt);
  EXPECT_EQ(nearest("--csv", {}), std::nullopt);
}

TEST(Nearest, TakesTheFirstOfSeveral) {
  const std::vector<std::string> known = {"bat", "cat"};
  EXPECT_EQ(nearest("rat", known), "bat");
  EXPECT_EQ(did_you_mean("rat", known), ": did you mean bat?");
  EXPECT_EQ(did_you_mean("elephant", known), "");
}

}  // namespace nearest_test
}  // namespace aggregate_power
