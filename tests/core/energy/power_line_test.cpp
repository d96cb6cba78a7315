#include "core/energy/curve.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power {
namespace power_line_test {

// Rises by 1 W every second from 0 W: t^2 / 2 until t.
std::vector<Sample> rising(int seconds) {
  std::vector<Sample> samples;
  for (int i = 0; i <= seconds; ++i) samples.push_back({i * 1.0, i * 1.0});
  return samples;
}

TEST(PowerLine, HasTheSameEnergyWithItsBlocks) {
  const std::vector<Sample> samples = rising(200);
  const std::vector<double> blocks_j = line_blocks_j(samples);
  ASSERT_EQ(blocks_j.size(), 3);
  EXPECT_DOUBLE_EQ(blocks_j[0], 64 * 64 / 2);
  EXPECT_DOUBLE_EQ(blocks_j[2], (192 * 192 - 128 * 128) / 2);
  const PowerLine line(samples, 0, blocks_j);
  for (const Window window : {Window{0, 200}, {10.5, 190}, {64, 128}, {63.5, 128.5}, {3, 4}}) {
    const double energy_j =
        (window.end_unix_s * window.end_unix_s - window.start_unix_s * window.start_unix_s) / 2;
    EXPECT_DOUBLE_EQ(line.energy_j(window), energy_j) << window.start_unix_s;
    EXPECT_DOUBLE_EQ(PowerLine(samples).energy_j(window), energy_j) << window.start_unix_s;
  }
}

TEST(PowerLine, IsOlderThanItsStamps) {
  const std::vector<Sample> samples = rising(100);
  const PowerLine line(samples, 2);
  EXPECT_DOUBLE_EQ(line.watts_at(8), 10);
  EXPECT_DOUBLE_EQ(line.energy_j({8, 10}), 11 * 2);
  EXPECT_DOUBLE_EQ(line.watts_at(99), 100);  // level beyond its end
  EXPECT_EQ(line.first_from(8), 10);
  EXPECT_EQ(line.first_after(8), 11);
}

TEST(PowerLine, SaysWhatALaterWindowChanges) {
  const std::vector<Sample> samples = rising(100);
  // From 21 W less 11 W, each for 2 s; earlier, from 9 W less 19 W.
  EXPECT_DOUBLE_EQ(PowerLine(samples).later_energy_change_j({10, 20}, 2), (21 - 11) * 2);
  EXPECT_DOUBLE_EQ(PowerLine(samples).later_energy_change_j({10, 20}, -2), (9 - 19) * 2);
}

}  // namespace power_line_test
}  // namespace aggregate_power
