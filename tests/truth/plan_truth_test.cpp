// Whether planned comparisons decide as often as their plan promises, and whether looks err as
// rarely as one. `energy_truth --plan 10000` shows the figures of many.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/plan_table.h"
#include "truth/rounds.h"

namespace truth {
namespace plan_truth_test {

constexpr std::size_t kComparisons = runs_of_each(1000);

const std::vector<PlanFigures>& table() {
  static const std::vector<PlanFigures> kTable = make_plan_table(kComparisons, 1);
  return kTable;
}

// Of 1,000 comparisons that decide with 90 %, 880 to 920 do in 96 of 100 tables.
TEST(PlanTruth, DecidesAsOftenAsItPromises) {
  std::fputs(as_text(table()).c_str(), stdout);
  if (kComparisons == 1) GTEST_SKIP() << "one comparison gives no figures";
  for (const PlanFigures& row : table()) {
    if (row.of.drift > 0) continue;
    // A plan has whole repeats: it promises 90 % at least.
    EXPECT_GE(row.promised, 0.899) << row.of.name;
    EXPECT_NEAR(row.right, row.promised, row.of.pilots > 0 ? 0.075 : 0.025) << row.of.name;
    EXPECT_LE(row.wrong, row.of.change > 0 ? 0.01 : 0.07) << row.of.name;
  }
}

// A drift of 0.01 % with each run, which the order of the plan spreads over both sides.
TEST(PlanTruth, HoldsUnderSlowDrift) {
  if (kComparisons == 1) GTEST_SKIP() << "one comparison gives no figures";
  for (const PlanFigures& row : table()) {
    if (row.of.drift == 0) continue;
    EXPECT_GE(row.right, row.of.drift < 0.0002 ? 0.87 : 0.84);
  }
}

// `compare` asks for as many more repeats as decide a change of the size that was seen. Among open
// comparisons, smaller ones than the true one are more common: more decide than is said.
TEST(PlanTruth, AsksForEnoughMoreRepeats) {
  if (kComparisons == 1) GTEST_SKIP() << "one comparison gives no figures";
  const std::vector<MoreFigures> more = make_more_table(kComparisons / 4, 1);
  std::fputs(as_text(more).c_str(), stdout);
  for (const MoreFigures& row : more) EXPECT_GE(row.right, 0.7) << row.change << " " << row.spread;
}

TEST(LookTruth, ErrsAsRarelyAsOneLook) {
  const std::vector<LookFigures> looks = make_look_table({1, 2, 5, 10}, kComparisons, 5, 1);
  std::fputs(as_text(looks).c_str(), stdout);
  if (kComparisons == 1) GTEST_SKIP() << "one comparison gives no figures";
  for (const LookFigures& row : looks) {
    EXPECT_LE(row.obrien_fleming, 0.07) << row.looks;
    EXPECT_LE(row.pocock, 0.075) << row.looks;
  }
  EXPECT_GE(looks.back().plain, 0.12);  // one more until it is significant
}

}  // namespace plan_truth_test
}  // namespace truth
