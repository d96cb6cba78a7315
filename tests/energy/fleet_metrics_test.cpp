// Percentiles and states of all GPUs: numbers by hand.
#include "energy/fleet_metrics.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

TEST(FleetMetrics, StatesAreThoseOfAllGpus) {
  FleetMeasurement fleet;
  fleet.power = FleetPower({{0, 0}, {10, 1000}});
  fleet.states[0] = {.mean = 60, .peak = 70, .gpus = 2};
  fleet.states[1] = {.mean = 99, .peak = 100, .gpus = 1};  // the other GPU does not say
  fleet.states[2] = {.mean = 2000, .peak = 3000, .gpus = 2};
  std::vector<std::pair<std::string, double>> found;
  for (const Metric& metric : fleet_metrics(fleet, 2)) {
    EXPECT_EQ(metric.decimals, 3);
    found.emplace_back(metric.key, metric.value);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, double>>{{"p75_power_w", 375},
                                                                {"p75_total_gpu_power_w", 750},
                                                                {"p90_power_w", 450},
                                                                {"p90_total_gpu_power_w", 900},
                                                                {"avg_temp_c", 60},
                                                                {"peak_temp_c", 70},
                                                                {"avg_mem_used_mb", 2000}}));
}

}  // namespace
}  // namespace aggregate_power
