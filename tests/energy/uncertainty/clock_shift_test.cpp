#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace aggregate_power {
namespace clock_shift_test {

constexpr Window kWindow = {1000, 1030};
const SensorModel kSensor = {.window_s = 1, .refresh_s = 0, .delay_s = 0};

std::vector<Sample> load_between(double rise, double fall) {
  std::vector<Sample> samples;
  for (double end = 980.3; end < 1050; end += 0.7) {
    const double on = std::max(0.0, std::min(end, fall) - std::max(end - 1, rise));
    samples.push_back({end, 100 + 400 * on});
  }
  return samples;
}

std::optional<LoadSpan> span_between(double rise, double fall) {
  const std::vector<Sample> samples = load_between(rise, fall);
  const auto crossings = load_crossings(samples, kWindow);
  return crossings ? load_span(samples, *crossings, kSensor, kWindow) : std::nullopt;
}

TEST(LoadCrossings, AreHalfWayBetweenIdleAndLoad) {
  // 300 W between 100 W and 500 W: half of a second after each edge.
  const auto crossings = load_crossings(load_between(1001.2, 1030.7), kWindow);
  ASSERT_TRUE(crossings);
  EXPECT_NEAR(crossings->up_unix_s, 1001.7, 0.2);
  EXPECT_NEAR(crossings->down_unix_s, 1031.2, 0.2);
  EXPECT_FALSE(load_crossings(load_between(0, 3000), kWindow));
}

// A warm-up of 5 s before the load, and an evaluation after it.
TEST(LoadCrossings, AreThoseOfTheLoadBesideOthers) {
  std::vector<Sample> samples = load_between(1001.2, 1030.7);
  for (Sample& sample : samples) {
    const bool is_other = (sample.unix_s > 991 && sample.unix_s < 996) ||
                          (sample.unix_s > 1034 && sample.unix_s < 1044);
    if (is_other) sample.watts = 500;
  }
  const auto crossings = load_crossings(samples, kWindow);
  ASSERT_TRUE(crossings);
  EXPECT_FALSE(crossings->are_only);
  EXPECT_NEAR(crossings->up_unix_s, 1001.7, 0.2);
  EXPECT_NEAR(crossings->down_unix_s, 1031.2, 0.2);
  EXPECT_FALSE(load_crossings(samples, {1000, 1080}));  // nothing falls near its end
}

TEST(LoadSpan, IsWhereASharpLoadWouldBe) {
  const auto span = span_between(1001.2, 1030.7);
  ASSERT_TRUE(span);
  EXPECT_NEAR(span->rise_unix_s, 1001.2, 0.1);
  EXPECT_NEAR(span->fall_unix_s, 1030.7, 0.1);
}

TEST(LoadSpan, IsUnknownIfTheLoadIsElsewhereOrEverywhere) {
  EXPECT_TRUE(span_between(993.5, 1030));  // within half of the window's length of its edge
  EXPECT_FALSE(span_between(1016, 1030));
  EXPECT_FALSE(span_between(0, 3000));
}

TEST(ClockShift, IsWhatBothEdgesAgreeOn) {
  const LoadSpan early[] = {
      {999, 1028.8, 999, 1028.8}, {999.1, 1028.9, 999.1, 1028.9}, {990, 1050, 990, 1050}};
  EXPECT_NEAR(clock_shift_s(early, kWindow).value(), (-1.0 - 1.1) / 2, 1e-9);
  const LoadSpan late[] = {{1000.9, 1030.7, 1000.9, 1030.7}};
  EXPECT_NEAR(clock_shift_s(late, kWindow).value(), 0.8, 1e-9);
}

// A clock that is off by most of the window's length is as easy to see as one that is nearly right.
TEST(ClockShift, IsFoundForALoadThatIsFarFromTheWindow) {
  const auto span = span_between(988, 1018);
  ASSERT_TRUE(span);
  EXPECT_NEAR(clock_shift_s(std::vector{*span}, kWindow).value(), -12, 0.1);
}

TEST(ClockShift, IsNoneForALoadThatIsWhereItMayBe) {
  const LoadSpan inside[] = {{1000.5, 1029, 1000.5, 1029}};  // it began late and ended early
  EXPECT_FALSE(clock_shift_s(inside, kWindow));
  const LoadSpan around[] = {{998, 1032, 998, 1032}};  // it goes beyond the window
  EXPECT_FALSE(clock_shift_s(around, kWindow));
  const LoadSpan later[] = {{1001, 1030.3, 1001, 1030.3}};  // the end may be a tail
  EXPECT_FALSE(clock_shift_s(later, kWindow));
  const LoadSpan unseen[] = {{999.5, 1029.5, 1000.1, 1029.1}};  // it may have begun in the window
  EXPECT_FALSE(clock_shift_s(unseen, kWindow));
  EXPECT_FALSE(clock_shift_s({}, kWindow));
}

}  // namespace clock_shift_test
}  // namespace aggregate_power
