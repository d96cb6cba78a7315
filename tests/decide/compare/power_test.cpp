// Numbers of repeats and of looks, with tables of others.
#include "decide/compare/power.h"

#include <cmath>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace power_test {

// The two-sample t test at alpha 5 %, two sides, 90 %: 22 of each side for a difference of one
// standard deviation, 16 for 1.2 (Cohen, Statistical Power Analysis, 1988, table 2.4.1). R's
// power.t.test(delta = 1, power = 0.9) says 22.02, which is nearer to 22 than to 23.
TEST(Power, IsThatOfTheTTest) {
  const auto repeats = [](double sigmas) {
    return repeats_for_power({.change = std::expm1(0.001 * sigmas), .spread = 0.001}, 0.9);
  };
  EXPECT_EQ(repeats(1.0), 22U);
  EXPECT_EQ(repeats(1.2), 16U);
}

// A spread of 0, and runs that state 0.5 %: the interval of n repeats is t(2n - 2) 0.5 % sqrt(2 /
// n) and never misses. 3: 2.776 x 0.408 % = 1.13 %; 4: 2.447 x 0.354 % = 0.865 %.
TEST(Power, CountsWhatRunsState) {
  const auto repeats = [](double change) {
    return repeats_for_power({.change = std::expm1(change), .stated = 0.005}, 0.9);
  };
  EXPECT_EQ(repeats(0.0115), 3U);
  EXPECT_EQ(repeats(0.0112), 4U);
  EXPECT_EQ(repeats(0.0087), 4U);
  EXPECT_EQ(repeats(0.0086), 5U);
}

// One repeat less is planned where its share is nearer to what was asked for, and not below 88 %.
TEST(Power, ComesAsNearAsWholeRepeatsDo) {
  for (double change = 0.004; change < 0.04; change *= 1.07) {
    const PowerQuestion question{.change = change, .spread = 0.01};
    const std::size_t repeats = *repeats_for_power(question, 0.9);
    const double share = decided_share(question, repeats, repeats);
    const double more = decided_share(question, repeats + 1, repeats + 1);
    EXPECT_GE(share, 0.88) << change;
    EXPECT_LE(std::abs(share - 0.9), std::abs(more - 0.9)) << change;
    if (repeats == 2) continue;
    const double less = decided_share(question, repeats - 1, repeats - 1);
    EXPECT_TRUE(less < 0.88 || 0.9 - less >= share - 0.9) << change;
  }
}

// Sides of three that differ by 1 % with 1 % each: h = 2.776 x 1 % x sqrt(2 / 3) = 2.27 %, and l /
// (1 - (l / h)^2) = 1.24 % counts. 95 %: 2 (1.960 + 1.645)^2 (1 / 1.24)^2 = 17 of each side by the
// normal distribution, and one or two more by the t test. A change of nearly h is taken for 1.2 h.
TEST(Power, TakesOpenChangesForLargerOnes) {
  const auto more = [](double apart) {
    RepeatedValues base, next;
    for (const double value : {99.0, 100.0, 101.0}) {
      base.values.push_back({.value = value});
      next.values.push_back({.value = value * std::exp(apart)});
    }
    return *more_repeats(base, next, *relative_change(base, next, 0), 0, 0, kChangeAlpha);
  };
  EXPECT_NEAR(static_cast<double>(3 + more(0.01)), 18.5, 1);
  EXPECT_NEAR(static_cast<double>(3 + more(0.02)), 5, 1);  // 2 x 3.605^2 / 2.72^2 = 3.5
}

TEST(Power, IsLessBetweenDifferentBoards) {
  PowerQuestion question{.change = 0.02, .spread = 0.001};
  EXPECT_TRUE(repeats_for_power(question, 0.9));
  question.accuracy = 0.02;  // no number of repeats helps
  EXPECT_FALSE(repeats_for_power(question, 0.9));
}

TEST(Power, NeedsMoreWhereFewPilotsSayTheSpread) {
  PowerQuestion question{.change = 0.01, .spread = 0.005};
  const auto known = repeats_for_power(question, 0.9);
  question.spread_freedom = 2;
  const auto of_three = repeats_for_power(question, 0.9);
  question.spread_freedom = 9;
  const auto of_ten = repeats_for_power(question, 0.9);
  EXPECT_LT(*known, *of_ten);
  EXPECT_LT(*of_ten, *of_three);
}

// Two pilot runs: the true spread is theirs over |z|. Of 1000 repeats the test is nearly normal, so
// that the share is the mean of Phi(a |z| - 1.9612) with a = ln 1.01 / (spread sqrt(2 / 1000)).
TEST(Power, IsTheMeanOverAllSpreadsThatTwoPilotsMayHave) {
  const auto density = [](double z) { return std::exp(-z * z / 2) * std::sqrt(2 / 3.14159265359); };
  for (const double spread : {0.0025, 0.005, 0.01, 0.02, 0.04}) {
    const double a = std::log(1.01) / (spread * std::sqrt(0.002));
    double share = 0;
    for (double z = 0.0005; z < 8; z += 0.001) {
      share += 0.001 * density(z) * std::erfc((1.9612 - a * z) / std::sqrt(2)) / 2;
    }
    const PowerQuestion question{.change = 0.01, .spread = spread, .spread_freedom = 1};
    EXPECT_NEAR(decided_share(question, 1000, 1000), share, 0.002) << spread;
  }
}

// Equivalence within 1 % where nothing changed: half the interval is at most 1 % less what the
// means differ by.
TEST(Power, OfAMarginIsThatOfTwoOneSidedTests) {
  const PowerQuestion question{.margin = 0.01, .stated = 0.005};
  EXPECT_EQ(repeats_for_power(question, 0.9), 4U);  // 0.865 %, as above
}

TEST(Power, CountsRepeatsThatAreThere) {
  const PowerQuestion question{.change = 0.01, .spread = 0.005};
  const auto all = repeats_for_power(question, 0.9);
  EXPECT_EQ(repeats_for_power(question, 0.9, 3, 3), *all - 3);
}

TEST(Power, FindsTheSmallestChange) {
  const PowerQuestion question{.change = 0.01, .spread = 0.005};
  const auto repeats = repeats_for_power(question, 0.9);
  const auto smallest = smallest_change(question, 0.9, *repeats);
  ASSERT_TRUE(smallest);
  EXPECT_LE(*smallest, 0.01);
  PowerQuestion at = question;
  at.change = *smallest;
  EXPECT_NEAR(decided_share(at, *repeats, *repeats), 0.9, 1e-3);
}

// Bounds of z as R's package gsDesign has them for sfLDOF and sfLDPocock, five looks, alpha 2.5 %
// to each side: 4.8769, 3.3569, 2.6803, 2.2898, 2.0310, and 2.4380, 2.4268, 2.4101, 2.3966, 2.3859.
TEST(Looks, HaveTheBoundsOfLanAndDeMets) {
  const auto alpha_of = [](double z) { return std::erfc(z / std::sqrt(2)); };
  const double kOf[] = {4.8769, 3.3569, 2.6803, 2.2898, 2.0310};
  const double kPocock[] = {2.4380, 2.4268, 2.4101, 2.3966, 2.3859};
  for (std::size_t k = 1; k <= 5; ++k) {
    const double of = look_alpha({.number = k, .planned = 5});
    const double pocock = look_alpha({.number = k, .planned = 5, .spending = Spending::pocock});
    EXPECT_NEAR(of / alpha_of(kOf[k - 1]), 1, 0.02) << k;
    EXPECT_NEAR(pocock / alpha_of(kPocock[k - 1]), 1, 0.02) << k;
  }
}

// The first of 20 looks decides almost nothing; more repeats still do.
TEST(Looks, MayBeMany) {
  const double alpha = look_alpha({.number = 1, .planned = 20});
  EXPECT_GT(alpha, 0);
  EXPECT_LT(alpha, 1e-20);
  const auto more = repeats_for_power({.change = 0.05, .spread = 0.01, .alpha = alpha}, 0.9, 2, 2);
  ASSERT_TRUE(more);
  EXPECT_LT(*more, 100u);
}

TEST(Looks, AreOneIfOneIsPlanned) { EXPECT_EQ(look_alpha({}), kChangeAlpha); }

}  // namespace power_test
}  // namespace aggregate_power
