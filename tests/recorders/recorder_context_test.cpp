// The recorder's clocks.
#include "recorders/recorder_context.h"

#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace recorder_context_test {

constexpr double kEpoch_s = 1'788'852'000;

ClockPair pair_at(double monotonic_s, double ahead_s = 0, const char* boot = "b") {
  return {kEpoch_s + monotonic_s + ahead_s, monotonic_s, boot};
}

TEST(TiedWindow, TranslatesByOnePair) {
  const TiedWindow tied = tied_window({110, 170}, {pair_at(100)});
  ASSERT_TRUE(tied.window);
  EXPECT_DOUBLE_EQ(tied.window->start_unix_s, kEpoch_s + 110);
  EXPECT_DOUBLE_EQ(tied.window->end_unix_s, kEpoch_s + 170);
}

TEST(TiedWindow, FollowsASlewedClock) {
  // 0.1 s gained in 1000 s: 100 ppm.
  const TiedWindow tied = tied_window({500, 900}, {pair_at(0), pair_at(1000, 0.1)});
  ASSERT_TRUE(tied.window);
  EXPECT_NEAR(tied.window->start_unix_s, kEpoch_s + 500.05, 1e-6);
  EXPECT_NEAR(tied.window->end_unix_s, kEpoch_s + 900.09, 1e-6);
}

TEST(TiedWindow, RefusesClocksThatDoNotAgree) {
  for (const std::vector<ClockPair>& pairs :
       std::vector<std::vector<ClockPair>>{{},
                                           {pair_at(0), pair_at(1000, 3)},
                                           {pair_at(0), pair_at(1000, -3)},
                                           {pair_at(0), pair_at(10, 0.2)},
                                           {pair_at(0), pair_at(500, 3600), pair_at(1000)},
                                           {pair_at(0), pair_at(500, 0, "c"), pair_at(1000)},
                                           {pair_at(0), pair_at(1000, 0, "")}}) {
    const TiedWindow tied = tied_window({110, 170}, pairs);
    EXPECT_FALSE(tied.window);
    EXPECT_NE(tied.fault, "");
  }
}

}  // namespace recorder_context_test
}  // namespace aggregate_power
