// Whether windows that are not at their load are refused, and others are not. The bounds are those
// of a few recordings of each class; `place_truth 10` shows the figures of many.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/place_table.h"
#include "truth/rounds.h"

namespace truth {
namespace place_truth_test {

constexpr std::size_t kRuns = runs_of_each(3);

double share(std::size_t part, std::size_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

TEST(PlaceTruth, FindsClocksThatAreOffAndRefusesNoGoodRun) {
  const std::vector<PlaceFigures> table = make_clock_table(kRuns, 1);
  std::fputs(clock_table_text(table).c_str(), stdout);
  for (const PlaceFigures& row : table) {
    EXPECT_LE(share(row.refused, row.good), 0.01) << row.name;
    EXPECT_LE(share(row.good_warned, row.good), 0.05) << row.name;
    // Where another load is just where the window is, nothing shows it; help limits says so.
    EXPECT_LE(static_cast<double>(row.wrong), 1 + 0.06 * static_cast<double>(row.moved))
        << row.name;
  }
}

TEST(PlaceTruth, PlacesLoadsInCommands) {
  const std::vector<WrappedFigures> table =
      make_wrapped_table(2, 1);  // of 30 bursts the share refused varies by 8 points
  std::fputs(wrapped_table_text(table).c_str(), stdout);
  for (const WrappedFigures& row : table) {
    const double most = row.name == "bursts" ? 0.07 : row.name == "all" ? 0.01 : 0.0;
    EXPECT_LE(share(row.wrong, row.runs), most) << row.name;
    EXPECT_LE(share(row.refused, row.runs), 0.25) << row.name;
  }
  EXPECT_LE(table.back().mean_error, 0.01);
}

}  // namespace place_truth_test
}  // namespace truth
