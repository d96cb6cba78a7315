// Intervals of requests and of layers against loads whose truth is known.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/rounds.h"
#include "truth/shared_table.h"

namespace truth {
namespace shared_truth_test {

constexpr std::size_t kLoads = runs_of_each(6);

TEST(SharedTruth, IsInTheIntervals) {
  const std::vector<SharedFigures> table = make_shared_table(kLoads, 1);
  std::fputs(as_text(table).c_str(), stdout);
  if (kIsSanitized) GTEST_SKIP() << "a load of each class gives no figures";
  Coverage all;
  for (const SharedFigures& row : table) {
    all.add(row.coverage);
    EXPECT_GT(row.coverage.given, 0U) << row.name;
    EXPECT_GE(row.coverage.held(), 0.8) << row.name;  // one board's gain is in all of a load
  }
  EXPECT_GE(all.held(), 0.93);
}

}  // namespace shared_truth_test
}  // namespace truth
