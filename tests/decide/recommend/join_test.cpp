// The last sample before each row.
#include "decide/recommend/recommend.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace asof_join_test {

using Found = std::vector<std::optional<std::size_t>>;

Found found_at(std::vector<double> times, std::vector<double> samples, double tolerance_s = 5) {
  return last_before(times, samples, tolerance_s);
}

TEST(LastBefore, TakesTheLastSampleAtOrBefore) {
  EXPECT_EQ(found_at({3, 10}, {0, 5}), (Found{0, 1}));  // exactly 5 s is near enough
  EXPECT_EQ(found_at({5}, {0, 5}), (Found{1}));
  EXPECT_EQ(found_at({4.999}, {0, 5}), (Found{0}));
  EXPECT_EQ(found_at({7}, {5, 5, 5}), (Found{2}));  // of equal times the last
}

TEST(LastBefore, TakesNoneThatIsTooOldOrLater) {
  EXPECT_EQ(found_at({11}, {0, 5}), (Found{std::nullopt}));
  EXPECT_EQ(found_at({-1}, {0, 5}), (Found{std::nullopt}));
  EXPECT_EQ(found_at({1, 2}, {}), (Found{std::nullopt, std::nullopt}));
  EXPECT_EQ(found_at({0, 1}, {0}, 0), (Found{0, std::nullopt}));
}

TEST(LastBefore, NeedsNoOrderOfTheRows) {
  EXPECT_EQ(found_at({10, 1, 6}, {0, 5}), (Found{1, 0, 1}));
}

}  // namespace asof_join_test
}  // namespace aggregate_power
