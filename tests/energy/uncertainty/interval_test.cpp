#include "energy/uncertainty/interval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aggregate_power {
namespace energy_interval_test {

double part_of(const Estimate& estimate, const std::string& name) {
  for (const Component& part : estimate.components) {
    if (part.name == name) return part.joules;
  }
  return 0;
}

TEST(EnergyInterval, SumsComponentsInSquares) {
  Estimate estimate = {1000, {component("sampling_and_edges", 3), component("timing", 4)}};
  EXPECT_DOUBLE_EQ(estimate.standard_uncertainty_j(), 5);
  EXPECT_DOUBLE_EQ(estimate.low_j(), 1000 - 1.96 * 5);
  estimate.components.push_back(component("sensor_gain_each", 12));
  EXPECT_DOUBLE_EQ(estimate.standard_uncertainty_j(), 13);
  EXPECT_DOUBLE_EQ(estimate.repeatability_j(), 5);  // without the sensor's accuracy
  EXPECT_DOUBLE_EQ(estimate.repeatability_high_j(), 1000 + 1.96 * 5);
}

TEST(EnergyInterval, TurnsTheGainAboutItsPivot) {
  // 400 W for 60 s: 312 W above 88 W.
  Estimate estimate = {400 * 60, {}};
  add_accuracy(estimate, SensorAccuracy{}, 60);
  EXPECT_NEAR(part_of(estimate, "sensor_gain_shared"), 0.022 * 312 * 60, 1e-9);
  EXPECT_NEAR(part_of(estimate, "sensor_gain_each"), 0.029 * 312 * 60, 1e-9);
  EXPECT_NEAR(part_of(estimate, "sensor_offset"), 4.9 * 60, 1e-9);
}

TEST(EnergyInterval, OfSeveralGpusAddsWhatTheyShare) {
  const Estimate gpu = {100,
                        {component("sensor_gain_shared", 2), component("sensor_gain_each", 3),
                         component("sampling_and_edges", 1), component("timing", 5)}};
  const CombinedGpu gpus[] = {{&gpu, "H100"}, {&gpu, "H100"}, {&gpu, "H100"}, {&gpu, "H200"}};
  const Estimate total = combine(gpus, 0.5);
  EXPECT_DOUBLE_EQ(total.joules, 400);
  EXPECT_DOUBLE_EQ(part_of(total, "sensor_gain_shared"), std::hypot(3 * 2, 2));  // by model
  EXPECT_DOUBLE_EQ(part_of(total, "sensor_gain_each"), 2 * 3);                   // sqrt(4) * 3
  EXPECT_DOUBLE_EQ(part_of(total, "timing"), 4 * 5);
  // Half of the way between the sum of squares and the square of the sum.
  EXPECT_DOUBLE_EQ(part_of(total, "sampling_and_edges"), std::sqrt(0.5 * 4 + 0.5 * 16));
  EXPECT_DOUBLE_EQ(part_of(total, "clock_offset"), 0);
}

}  // namespace energy_interval_test
}  // namespace aggregate_power
