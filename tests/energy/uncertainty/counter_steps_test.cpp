#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace counter_steps_test {

const CounterSample kCounter[] = {{0, 0},   {1, 100}, {2, 100}, {3, 300},
                                  {4, 400}, {5, 500}, {6, 600}, {7, 600}};

TEST(CounterSteps, AreCountedFromTheFirstToTheLastInside) {
  const auto span = counter_span(kCounter, {1.5, 7}, 0.1);
  ASSERT_TRUE(span);
  // It stepped to 300 J before 3 s, and to 600 J before 6 s.
  EXPECT_EQ(span->between.start_unix_s, 3);
  EXPECT_EQ(span->between.end_unix_s, 6);
  EXPECT_EQ(span->energy_j, 300);
  EXPECT_EQ(span->age_s, 0.1);
  EXPECT_FALSE(span->runs_backwards);
}

TEST(CounterSteps, AreNotEnoughInAShortWindow) {
  EXPECT_FALSE(counter_span(kCounter, {1.5, 5}, 0.1));
}

TEST(CounterSteps, ThatGoDownAreAFault) {
  const CounterSample reset[] = {{0, 500}, {1, 600}, {2, 10}, {3, 110}};
  EXPECT_TRUE(counter_span(reset, {0, 3}, 0.1)->runs_backwards);
}

}  // namespace counter_steps_test
}  // namespace aggregate_power
