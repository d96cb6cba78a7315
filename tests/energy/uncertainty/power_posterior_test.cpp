#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace aggregate_power {
namespace power_posterior_test {

constexpr PowerPace kPace = {4, 0.5};

std::vector<PlacedReading> constant(double watts, double from, double to, double period) {
  std::vector<PlacedReading> readings;
  for (double at = from; at <= to; at += period) readings.push_back({watts, at, 0.1});
  return readings;
}

TEST(PowerPosterior, OfConstantReadingsIsConstant) {
  for (const double period : {0.1, 1.0}) {
    const auto readings = constant(400, -3, 63, period);
    const PowerPosterior posterior({readings, 1, kPace, {}, {0, 60}});
    EXPECT_NEAR(posterior.energy({0, 60}).joules, 400 * 60, 0.5);
    EXPECT_NEAR(posterior.energy({7.3, 9.1}).joules, 400 * 1.8, 0.1);
    EXPECT_NEAR(posterior.energy({30, 30.1}).joules, 400 * 0.1, 0.01);
  }
}

// Power steps from 100 to 500 W at 0 s; a mean over the second before t is on the line between.
std::vector<PlacedReading> step_seen_through_a_second(double period) {
  std::vector<PlacedReading> readings;
  for (double at = -3 + 0.037; at < 15; at += period) {
    readings.push_back({100 + 400 * std::clamp(at, 0.0, 1.0), at, 0.001});
  }
  return readings;
}

TEST(PowerPosterior, SharpensAStepThatAveragesBlur) {
  const PowerJump jumps[] = {{-0.05, 0.15, 400}};
  const auto readings = step_seen_through_a_second(0.1);
  const PowerPosterior posterior({readings, 1, kPace, jumps, {0, 10}});
  // Straight lines between the readings would give 500 * 10 - 400 / 2.
  EXPECT_NEAR(posterior.energy({0, 10}).joules, 500 * 10, 25);
  EXPECT_NEAR(posterior.energy({-0.5, -0.4}).joules, 100 * 0.1, 1);
  EXPECT_NEAR(posterior.energy({0.5, 0.6}).joules, 500 * 0.1, 1.5);
}

TEST(PowerPosterior, TakesAnEdgeAtTheWindowExactly) {
  // One reading a second. The one that covers the step tells when it was.
  const PowerJump jumps[] = {{0, 0.2, 400}};
  const auto readings = step_seen_through_a_second(1);
  const PowerPosterior posterior({readings, 1, kPace, jumps, {0, 10}});
  EXPECT_NEAR(posterior.energy({0, 10}).joules, 500 * 10, 15);
}

TEST(PowerPosterior, IsLessCertainInAGap) {
  std::vector<PlacedReading> readings = constant(400, -3, 63, 1);
  const double whole =
      PowerPosterior({readings, 1, kPace, {}, {0, 60}}).energy({0, 60}).variance_j2;
  std::erase_if(readings, [](const PlacedReading& one) {
    return one.end_unix_s > 30.5 && one.end_unix_s < 40.5;
  });
  const double gap = PowerPosterior({readings, 1, kPace, {}, {0, 60}}).energy({0, 60}).variance_j2;
  // A walk between two ends that are known, 10 s apart: 4 W^2/s * 10^3 / 12, and 0.5 * 10 of the
  // fast part. They are known as means of a second, whose middles are 11 s apart.
  EXPECT_GT(gap - whole, 4 * 1000.0 / 12 + 0.5 * 10);
  EXPECT_LT(gap - whole, 4 * 1331.0 / 12 + 0.5 * 11);
}

TEST(PowerPosterior, FindsTheJumpThatIsThereMoreProbable) {
  const auto readings = step_seen_through_a_second(0.1);
  const PowerJump right[] = {{-0.05, 0.15, 400}};
  const PowerJump wrong[] = {{4, 4.2, 400}};
  EXPECT_GT(PowerPosterior({readings, 1, kPace, right, {0, 10}}).log_evidence(),
            PowerPosterior({readings, 1, kPace, wrong, {0, 10}}).log_evidence() + 10);
}

}  // namespace power_posterior_test
}  // namespace aggregate_power
