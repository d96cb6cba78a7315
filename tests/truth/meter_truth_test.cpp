// Watts of a node for each watt of its GPUs against nodes whose truth is known.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/meter_table.h"
#include "truth/rounds.h"

namespace truth {
namespace meter_truth_test {

constexpr std::size_t kNodes = runs_of_each(40);

TEST(MeterTruth, IsInTheIntervals) {
  const std::vector<MeterFigures> table = make_meter_table(kNodes, 1);
  std::fputs(as_text(table).c_str(), stdout);
  if (kNodes == 1) GTEST_SKIP() << "a node of each load gives no figures";
  Coverage slope;
  Coverage idle;
  for (const MeterFigures& row : table) {
    slope.add(row.slope);
    idle.add(row.idle);
    EXPECT_GE(row.slope.given, kNodes * 8 / 10) << row.name;
    EXPECT_GE(row.slope.held(), 0.85) << row.name;
    EXPECT_LE(row.bias, 0.01) << row.name;
  }
  EXPECT_GE(slope.held(), 0.93);
  EXPECT_LE(slope.held(), 0.98);
  EXPECT_GE(idle.held(), 0.93);
  EXPECT_LE(idle.held(), 0.98);
}

}  // namespace meter_truth_test
}  // namespace truth
