#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace aggregate_power {
namespace whole_second_stamps_test {

std::vector<double> loop(double first, double round, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(first + i * round);
  return times;
}

std::vector<double> cut(const std::vector<double>& times) {
  std::vector<double> stamps;
  for (const double time : times) stamps.push_back(std::floor(time));
  return stamps;
}

TEST(WholeSecondStamps, ShowALoopThatPassesManySeconds) {
  // 40 rounds of 1.03 s skip a second once: that tells where in it they are.
  for (const double first : {1000.05, 1000.4, 1000.85}) {
    std::vector<double> times = loop(first, 1.03, 40);
    times[17] += 0.2;  // late
    const auto found = regular_loop(cut(times));
    ASSERT_TRUE(found);
    EXPECT_LT(found->uncertainty_s, 0.4);
    for (const std::size_t i : {0, 20, 39}) {
      EXPECT_NEAR(found->unix_s[i], times[i], 3 * found->uncertainty_s);
    }
  }
}

TEST(WholeSecondStamps, OfALoopOfExactSecondsSayLittle) {
  const auto found = regular_loop(cut(loop(1000.5, 1.0, 20)));
  ASSERT_TRUE(found);
  EXPECT_GT(found->uncertainty_s, 0.15);
  EXPECT_NEAR(found->unix_s[10], 1010.5, 0.3);
}

TEST(WholeSecondStamps, OfALoopOfExactSecondsAreInTheMiddleOfThePlacesThatAreTried) {
  // Places 0, 0.02 ... 0.98 fit all stamps, and with a longer or shorter round as many less at
  // either end, however exactly the last one meets the end of a second.
  for (const int count : {49, 81, 113}) {
    for (const double first : {1000.0, 1.7e9}) {
      const auto found = regular_loop(loop(first, 1.0, count));
      ASSERT_TRUE(found);
      const auto middle = static_cast<std::size_t>(count / 2);
      EXPECT_NEAR(found->unix_s[middle], first + count / 2 + 0.49, 1e-3) << count;
    }
  }
}

TEST(WholeSecondStamps, ThatAreTooFewOrOfAnotherLoopShowNothing) {
  EXPECT_FALSE(regular_loop(cut(loop(1000.5, 1.0, 2))));
  EXPECT_FALSE(regular_loop(cut(loop(1000.5, 0.5, 60))));
}

}  // namespace whole_second_stamps_test
}  // namespace aggregate_power
