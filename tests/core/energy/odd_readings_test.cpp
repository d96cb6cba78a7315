// Which odd readings count in the energy of windows.
#include "core/energy/plausibility.h"

#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace odd_readings_test {

// One reading a second, from second 0.
std::vector<Sample> each_second(const std::vector<double>& watts) {
  std::vector<Sample> samples;
  for (const double one : watts) samples.push_back({static_cast<double>(samples.size()), one});
  return samples;
}

DeviceEnergy found_in(const std::vector<double>& watts, const std::vector<Window>& windows) {
  const std::vector<Sample> samples = each_second(watts);
  OddReadings odd(samples);
  for (const Window window : windows) odd.count_in(window);
  return odd.found();
}

TEST(OddReadings, AreTheOnesAboveAnyBoard) {
  EXPECT_EQ(found_in({300, 2500, 300}, {{0, 2}}).highest_w, 2500);  // of few, not of none
  EXPECT_EQ(found_in({300, 2000, 300}, {{0, 2}}).highest_w, 0);
  const DeviceEnergy found = found_in({300, 3001, 300, 9000, 300, 3000, 300}, {{0, 6}});
  EXPECT_EQ(found.absurd_samples, 2);
  EXPECT_EQ(found.highest_w, 9000);
  EXPECT_EQ(found.highest_unix_s, 3);
  EXPECT_EQ(found.lone_zeros, 0);
}

TEST(OddReadings, AreUpToThreeZerosOfAGpuThatIsOn) {
  EXPECT_EQ(found_in({300, 0, 300, 0, 0, 0, 300}, {{0, 6}}).lone_zeros, 4);
  EXPECT_EQ(found_in({300, 0, 0, 0, 0, 300}, {{0, 5}}).lone_zeros, 0);
  EXPECT_EQ(found_in({0, 300, 0, 10, 300, 0}, {{0, 5}}).lone_zeros, 0);
}

TEST(OddReadings, CountWhereThePowerDependsOnThem) {
  const std::vector<double> watts = {300, 300, 300, 5000, 300, 300};  // from 2 s to 4 s
  EXPECT_EQ(found_in(watts, {{0, 2}, {4, 5}}).absurd_samples, 0);
  EXPECT_EQ(found_in(watts, {{0, 2.1}}).absurd_samples, 1);
  EXPECT_EQ(found_in(watts, {{3.9, 5}}).absurd_samples, 1);
}

TEST(OddReadings, CountOnceInWindowsThatOverlap) {
  const std::vector<double> watts = {300, 5000, 300, 6000, 300, 7000, 300, 8000, 300};
  EXPECT_EQ(found_in(watts, {{2.5, 3.5}, {4.5, 5.5}, {0, 8}, {2, 6}}).absurd_samples, 4);
  EXPECT_EQ(found_in(watts, {{2.5, 3.5}, {4.5, 5.5}, {2, 6}}).absurd_samples, 2);
}

}  // namespace odd_readings_test
}  // namespace aggregate_power
