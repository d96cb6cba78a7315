// What rows state of their GPUs' limits and utilization.
#include "core/energy/stated_limits.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace stated_limits_test {

// Rows of GPU 0, one a second: {watts, limit, utilization}.
struct Row {
  double watts;
  double limit_w;
  double utilization_pct = std::nan("");
};

template <typename Stated>
Stated stated_by(Stated stated, const std::vector<Row>& rows) {
  std::vector<Reading> readings;
  std::vector<GpuState> states;
  std::vector<std::uint32_t> of_rows;
  for (const Row& row : rows) {
    readings.push_back({static_cast<double>(readings.size()), row.watts, 0, Reading::Kind::power});
    of_rows.push_back(static_cast<std::uint32_t>(states.size()));
    GpuState& state = states.emplace_back();
    state.values[static_cast<std::size_t>(GpuQuantity::power_limit_w)] = row.limit_w;
    state.values[static_cast<std::size_t>(GpuQuantity::utilization_pct)] = row.utilization_pct;
  }
  stated.take({readings, {states, of_rows}});
  return stated;
}

TEST(StatedLimits, CountReadingsAboveTwiceTheirOwn) {
  const auto found =
      stated_by(StatedLimits({0, 9}), {{700, 350}, {701, 350}, {900, 450}, {950, 450}}).of(0);
  EXPECT_EQ(found.rows, 4U);
  EXPECT_EQ(found.mean_limit_w(), (350 + 350 + 450 + 450) / 4.0);
  EXPECT_EQ(found.above, 2U);
  EXPECT_EQ(found.first.unix_s, 1);
  EXPECT_EQ(found.first.watts, 701);
  EXPECT_EQ(found.first_limit_w, 350);
}

TEST(StatedLimits, AreThoseInsideTheWindowAndAboveNothing) {
  const std::vector<Row> rows = {{900, 350}, {300, 350}, {300, 0}, {300, std::nan("")}, {900, 350}};
  const auto found = stated_by(StatedLimits({1, 3}), rows).of(0);
  EXPECT_EQ(found.rows, 1U);
  EXPECT_EQ(found.above, 0U);
  EXPECT_EQ(stated_by(StatedLimits({1, 3}), rows).of(7).rows, 0U);
}

TEST(StatedValues, AreThoseOfTheRowsInside) {
  const std::vector<Row> rows = {{3, 70, 0}, {3, 70, 90}, {3, 70, 100}, {3, 70}};
  const auto stated = [&](Window window) {
    return stated_by(StatedValues(window, GpuQuantity::utilization_pct), rows);
  };
  EXPECT_EQ(stated({1, 3}).mean(0), 95);
  EXPECT_EQ(stated({1, 3}).highest(0), 100);
  EXPECT_EQ(stated({0, 0}).highest(0), 0);
  EXPECT_TRUE(std::isnan(stated({3, 3}).mean(0)));
  EXPECT_TRUE(std::isnan(stated({3, 3}).highest(0)));
}

}  // namespace stated_limits_test
}  // namespace aggregate_power
