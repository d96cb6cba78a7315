// The choice among limits, and which limits are the same.
#include "decide/recommend/recommend.h"

#include <cmath>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace limit_choice_test {

LimitGroup group_of_runs(double limit_w, std::vector<LimitPiece> pieces) {
  return {.limit_w = limit_w, .n = pieces.size(), .pieces = std::move(pieces)};
}

TEST(ChooseLimit, AddsRowsUpAndCountsRunsAlike) {
  // 100 J for 10 tokens and 100 J for 40: of rows 200 / 50, of runs the mean of 10 and 2.5.
  LimitScenario scenario{.name = "x", .has_tokens = true, .is_of_rows = true};
  scenario.groups = {group_of_runs(100, {{100, 1, 10}, {100, 1, 40}}),
                     group_of_runs(200, {{100, 1, 10}, {100, 1, 10}})};
  LimitChoice choice = choose_limit(scenario, {});
  EXPECT_DOUBLE_EQ(choice.groups[0].joules_per_token.value(), 4);
  EXPECT_EQ(choice.recommended_limit_w, 100);
  EXPECT_DOUBLE_EQ(choice.margin.value(), 1.5);  // 10 against 4
  scenario.is_of_rows = false;
  choice = choose_limit(scenario, {});
  EXPECT_DOUBLE_EQ(choice.groups[0].joules_per_token.value(), 6.25);
  EXPECT_DOUBLE_EQ(choice.margin.value(), 0.6);
}

// 100, 101 and 102 J against 104, 105 and 106: as compare has it, and whatever the spread of
// others.
TEST(ChooseLimit, ComparesTwoLimitsAsCompareDoes) {
  LimitScenario scenario{.name = "x"};
  const auto group = [](double limit_w, std::initializer_list<double> energies) {
    LimitGroup made{.limit_w = limit_w, .n = energies.size()};
    for (const double joules : energies) made.pieces.push_back({joules, 1, 1});
    return made;
  };
  scenario.groups = {group(100, {100, 101, 102}), group(200, {104, 105, 106}),
                     group(300, {150, 200, 300})};
  const LimitChoice choice = choose_limit(scenario, {});
  RepeatedValues base, next;
  for (const double joules : {100.0, 101.0, 102.0}) base.values.push_back({.value = joules});
  for (const double joules : {104.0, 105.0, 106.0}) next.values.push_back({.value = joules});
  const auto change = relative_change(base, next, 0);
  EXPECT_NEAR(choice.margin.value(), change->change, 1e-12);
  EXPECT_NEAR(choice.margin_interval.value().low, change->low, 1e-12);
  EXPECT_NEAR(choice.margin_interval.value().high, change->high, 1e-12);
  // At 300 W ln(216.7 / 101) = 0.763 is less than t(2.0) = 4.30 times 76.4 / 216.7 / sqrt(3) =
  // 0.203.
  EXPECT_EQ(choice.ties_w, std::vector<double>{300});
}

TEST(ChooseLimit, NeverChoosesWhatWasNotInForce) {
  LimitScenario scenario{.name = "x"};
  scenario.groups = {group_of_runs(100, {{10, 1, 1}}), group_of_runs(200, {{200, 1, 1}}),
                     group_of_runs(300, {{300, 1, 1}})};
  scenario.groups[0].state = LimitState::limit_not_in_force;
  const LimitChoice choice = choose_limit(scenario, {});
  EXPECT_EQ(choice.recommended_limit_w, 200);
  EXPECT_EQ(choice.runner_up_w, 300);
}

TEST(ChooseLimit, TiesWhatItsRecordsCannotTellApart) {
  // Standard uncertainties of 1 % each: 1.96 x sqrt(2) % is 2.8 %.
  for (const auto& [other_j, ties] : {std::pair(102.0, 1U), std::pair(103.5, 0U)}) {
    LimitScenario scenario{.name = "x"};
    scenario.groups = {group_of_runs(100, {{100, 1, 1}}), group_of_runs(200, {{other_j, 1, 1}})};
    for (LimitGroup& group : scenario.groups) group.relative_uncertainty = 0.01;
    const LimitChoice choice = choose_limit(scenario, {});
    EXPECT_EQ(choice.ties_w.size(), ties) << other_j;
    EXPECT_EQ(choice.interval_from, "records");
  }
}

TEST(ChooseLimit, TakesEqualRepeatsForCopies) {
  LimitScenario scenario{.name = "x"};
  scenario.groups = {group_of_runs(100, {{100, 1, 1}, {100, 1, 1}, {100, 1, 1}}),
                     group_of_runs(200, {{101, 1, 1}, {101, 1, 1}})};
  LimitChoice choice = choose_limit(scenario, {});
  EXPECT_EQ(choice.interval_from, "");
  EXPECT_FALSE(choice.are_ties_judged);
  EXPECT_TRUE(choice.are_repeats_equal);
  EXPECT_FALSE(choice.margin_interval);
  // One that differs gives a spread of one degree of freedom: of 2 / 101 / sqrt(2), of a mean of
  // two.
  scenario.groups[0].pieces[2].energy_j = 102;
  choice = choose_limit(scenario, {});
  EXPECT_EQ(choice.interval_from, "repeats");
  EXPECT_TRUE(choice.are_ties_judged);
  const double half = 12.7062047 * (2.0 / 101) / std::sqrt(2.0) / std::sqrt(2.0);
  EXPECT_NEAR(choice.groups[0].interval.value().high, 302.0 / 3 * (1 + half), 1e-4);
}

TEST(DistinctLimits, JoinsThoseWithinAWattOrHalfAPercent) {
  EXPECT_EQ(distinct_limits({300, 150, 151, 301, 301.6, 152.5}),
            (std::vector<double>{150, 152.5, 300, 301.6}));
  EXPECT_EQ(distinct_limits({700, 703.5, 704}), (std::vector<double>{700, 704}));
  EXPECT_EQ(limit_index({150, 200}, 150.8), 0U);
  EXPECT_EQ(limit_index({150, 200}, 200), 1U);
}

}  // namespace limit_choice_test
}  // namespace aggregate_power
