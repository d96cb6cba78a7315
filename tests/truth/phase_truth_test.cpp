// The watts of phases against loads whose truth is known.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/phase_table.h"
#include "truth/rounds.h"

namespace truth {
namespace phase_truth_test {

constexpr std::size_t kLoads = runs_of_each(4);

TEST(PhaseTruth, KnowsTheWattsAndHowFarTheyMayBeOff) {
  const std::vector<PhaseFigures> table = make_phase_table(kLoads, 1);
  std::fputs(as_text(table).c_str(), stdout);
  Coverage all;
  for (const PhaseFigures& row : table) {
    if (row.is_refused) {
      EXPECT_EQ(row.given, 0U) << row.name;
      continue;
    }
    all.add(row.prefill);
    all.add(row.decode);
    if (kLoads == 1) continue;
    EXPECT_GE(row.given, kLoads / 2) << row.name;
    EXPECT_EQ(row.given, row.right_model) << row.name;
    EXPECT_LE(row.prefill_error, 0.02) << row.name;
  }
  if (kLoads == 1) GTEST_SKIP() << "a load of each class gives no figures";
  EXPECT_GE(all.held(), 0.88);
}

}  // namespace phase_truth_test
}  // namespace truth
