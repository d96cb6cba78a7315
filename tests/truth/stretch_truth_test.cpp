// Intervals of short and of placed windows against loads whose truth is known.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/rounds.h"
#include "truth/stretch_table.h"

namespace truth {
namespace stretch_truth_test {

constexpr std::size_t kStretches = runs_of_each(20);

TEST(StretchTruth, IsInTheIntervals) {
  const std::vector<StretchFigures> table = make_stretch_table(kStretches, 1);
  std::fputs(as_text(table).c_str(), stdout);
  if (kStretches == 1) GTEST_SKIP() << "a stretch of each kind gives no figures";
  Coverage all;
  for (const StretchFigures& row : table) {
    all.add(row.coverage);
    const bool may_be_unseen = row.name.starts_with("placed");  // a coarse recording shows no edge
    EXPECT_GE(row.coverage.given, may_be_unseen ? kStretches / 5 : kStretches * 9 / 10) << row.name;
    // Steps that are as long as the sensor's window hide from it.
    const bool may_hide = row.name.starts_with("training");
    EXPECT_GE(row.coverage.held(), may_hide ? 0.6 : 0.8) << row.name;
  }
  EXPECT_GE(all.held(), 0.93);
}

}  // namespace stretch_truth_test
}  // namespace truth
