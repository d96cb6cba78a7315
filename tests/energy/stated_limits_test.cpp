// What rows state of their GPUs' limits and utilization.
#include "energy/stated_limits.h"

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
Stated stated_by(const std::vector<Row>& rows, Window window) {
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
  Stated stated(window);
  stated.take({readings, {states, of_rows}});
  return stated;
}

TEST(StatedLimits, CountReadingsAboveTwiceTheirOwn) {
  const auto found =
      stated_by<StatedLimits>({{700, 350}, {701, 350}, {900, 450}, {950, 450}}, {0, 9}).of(0);
  EXPECT_EQ(found.rows, 4U);
  EXPECT_EQ(found.mean_limit_w(), (350 + 350 + 450 + 450) / 4.0);
  EXPECT_EQ(found.above, 2U);
  EXPECT_EQ(found.first.unix_s, 1);
  EXPECT_EQ(found.first.watts, 701);
  EXPECT_EQ(found.first_limit_w, 350);
}

TEST(StatedLimits, AreThoseInsideTheWindowAndAboveNothing) {
  const std::vector<Row> rows = {{900, 350}, {300, 350}, {300, 0}, {300, std::nan("")}, {900, 350}};
  const auto found = stated_by<StatedLimits>(rows, {1, 3}).of(0);
  EXPECT_EQ(found.rows, 1U);
  EXPECT_EQ(found.above, 0U);
  EXPECT_EQ(stated_by<StatedLimits>(rows, {1, 3}).of(7).rows, 0U);
}

TEST(StatedUtilization, IsTheMeanOfTheRowsInside) {
  const std::vector<Row> rows = {{3, 70, 0}, {3, 70, 90}, {3, 70, 100}, {3, 70}};
  EXPECT_EQ(stated_by<StatedUtilization>(rows, {1, 3}).mean_pct(0), 95);
  EXPECT_TRUE(std::isnan(stated_by<StatedUtilization>(rows, {3, 3}).mean_pct(0)));
}

}  // namespace stated_limits_test
}  // namespace aggregate_power
