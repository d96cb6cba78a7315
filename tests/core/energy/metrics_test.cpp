// Energy to the published numbers: contract.md A.2, A.8 and B.5, golden.md section 6.
#include "core/energy/metrics.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace metrics_test {

Load load(double seconds, std::int64_t completed, std::int64_t input, std::int64_t output) {
  return {{1000, 1000 + seconds}, seconds, completed, input, output};
}

struct Expected {
  const char* key;
  int decimals;
  double value;  // as published
};

void expect(const Metrics& metrics, const std::vector<Expected>& expected) {
  ASSERT_EQ(metrics.size(), expected.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i].key, expected[i].key);
    EXPECT_EQ(metrics[i].decimals, expected[i].decimals) << expected[i].key;
    EXPECT_EQ(rounded(metrics[i].value, metrics[i].decimals), expected[i].value) << expected[i].key;
  }
}

// 8 GPUs at 600 W through 60 s: 288,000 J; 30 queries, 240,000 + 30,000 tokens.
TEST(Schema2Metrics, AreTheSevenInOrder) {
  expect(energy_metrics({288000, 8, load(60, 30, 240000, 30000)}),
         {{"avg_power_w", 3, 600.0},
          {"avg_total_gpu_power_w", 3, 4800.0},
          {"total_gpu_energy_j", 3, 288000.0},
          {"joules_per_successful_query", 6, 9600.0},
          {"joules_per_input_token", 6, 1.2},
          {"joules_per_output_token", 6, 9.6},
          {"joules_per_total_token", 6, 1.066667}});
}

TEST(Schema2Metrics, OutputToTotalIsNineToOne) {
  // 65,536 output and 524,288 input tokens, 500 W x 8 x 10 s = 40,000 J.
  const Metrics metrics = energy_metrics({40000, 8, load(10, 64, 524288, 65536)});
  EXPECT_DOUBLE_EQ(metrics[5].value / metrics[6].value, 9);
  EXPECT_EQ(metrics[5].value, 40000.0 / 65536);
}

TEST(Schema2Metrics, AddUpTokensBeyondDoublesAndInt64) {
  const Metrics metrics = energy_metrics({1e18, 1, load(1, 1, INT64_MAX, INT64_MAX)});
  EXPECT_DOUBLE_EQ(metrics[6].value, 1e18 / (2 * 9223372036854775807.0));
}

TEST(Schema1Metrics, AreTheThreeInOrder) {
  // 600 W x 8 x 60 s.
  expect(sample_mean_metrics(600, 8, load(60, 0, 240000, 30000)),
         {{"avg_power_w", 3, 600.0},
          {"joules_per_output_token", 6, 9.6},
          {"joules_per_total_token", 6, 1.066667}});
  // golden.md: 8 x 500 W x 10 s / 20,000; two samples of 500 W, 2 s, 500 tokens.
  expect(sample_mean_metrics(500, 8, load(10, 0, 0, 20000)), {{"avg_power_w", 3, 500.0},
                                                              {"joules_per_output_token", 6, 2.0},
                                                              {"joules_per_total_token", 6, 2.0}});
  expect(sample_mean_metrics(500, 1, load(2, 0, 0, 500)), {{"avg_power_w", 3, 500.0},
                                                           {"joules_per_output_token", 6, 2.0},
                                                           {"joules_per_total_token", 6, 2.0}});
}

TEST(AllMetricKeys, AreThirteen) {
  EXPECT_EQ(all_metric_keys(),
            (std::vector<std::string_view>{
                "avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j",
                "joules_per_successful_query", "joules_per_input_token", "joules_per_output_token",
                "joules_per_total_token", "prefill_gpu_energy_j", "prefill_avg_power_w",
                "prefill_joules_per_input_token", "decode_gpu_energy_j", "decode_avg_power_w",
                "decode_joules_per_output_token"}));
}

// Those of roles, in 100 s with 3,000 tokens in and 700 out.
Metrics roles_of(const RoleEnergy& prefill, const RoleEnergy& decode) {
  Metrics metrics = energy_metrics({170000, 6, load(100, 1, 3000, 700), prefill, decode});
  metrics.erase(metrics.begin(), metrics.begin() + 7);
  return metrics;
}

TEST(RoleMetrics, ArePrefillByInputAndDecodeByOutput) {
  // 2 GPUs at 150 W and 4 at 350 W for 100 s; 3,000 tokens in, 700 out.
  const Metrics metrics = roles_of({2, 30000}, {4, 140000});
  const std::vector<std::pair<std::string_view, double>> expected = {
      {"prefill_gpu_energy_j", 30000},
      {"prefill_avg_power_w", 150},
      {"prefill_joules_per_input_token", 10},
      {"decode_gpu_energy_j", 140000},
      {"decode_avg_power_w", 350},
      {"decode_joules_per_output_token", 200}};
  ASSERT_EQ(metrics.size(), expected.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i].key, expected[i].first);
    EXPECT_EQ(metrics[i].value, expected[i].second);
    EXPECT_EQ(metrics[i].decimals, i % 3 == 2 ? 6 : 3);
  }
}

TEST(RoleMetrics, OfARoleWithoutGpusAreNone) {
  EXPECT_TRUE(roles_of({}, {}).empty());
  EXPECT_EQ(roles_of({}, {1, 5})[0].key, "decode_gpu_energy_j");
}

TEST(DashboardMetrics, StatesAreThoseOfAllGpus) {
  FleetMeasurement fleet;
  fleet.power = FleetPower({{0, 0}, {10, 1000}});
  fleet.states[0] = {.mean = 60, .peak = 70, .gpus = 2};
  fleet.states[1] = {.mean = 99, .peak = 100, .gpus = 1};  // the other GPU does not say
  fleet.states[2] = {.mean = 2000, .peak = 3000, .gpus = 2};
  Metrics metrics = energy_metrics({10000, 2, load(10, 1, 1, 1), {}, {}, fleet, Contract::august});
  metrics.erase(metrics.begin(), metrics.begin() + 7);
  std::vector<std::pair<std::string, double>> found;
  for (const Metric& metric : metrics) {
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

TEST(DashboardMetrics, PercentilesFollowTheMeanSinceOctober) {
  FleetMeasurement fleet;
  fleet.power = FleetPower({{0, 0}, {10, 1000}});
  fleet.states[0] = {.mean = 60, .peak = 70, .gpus = 2};
  std::vector<std::string_view> keys;
  for (const Metric& metric : energy_metrics({10000, 2, load(10, 1, 1, 1), {}, {}, fleet})) {
    keys.push_back(metric.key);
  }
  EXPECT_EQ(keys,
            (std::vector<std::string_view>{
                "avg_power_w", "p75_power_w", "p75_total_gpu_power_w", "p90_power_w",
                "p90_total_gpu_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j",
                "joules_per_successful_query", "joules_per_input_token", "joules_per_output_token",
                "joules_per_total_token", "avg_temp_c", "peak_temp_c"}));
}

TEST(DashboardMetrics, AreLeftOutWhereTheyAreTooLarge) {
  FleetMeasurement fleet;
  fleet.states[0] = {.mean = 60, .peak = -std::numeric_limits<double>::infinity(), .gpus = 1};
  const Metrics metrics = energy_metrics({10000, 1, load(10, 1, 1, 1), {}, {}, fleet});
  EXPECT_EQ(metrics.size(), 8u);
  EXPECT_EQ(metrics.back().key, "avg_temp_c");
}

// 60 s at 1,000 W: 60,000 J. Over 10^12 it is 6e-8 J, over 10^11 6e-7 J, which is written as
// 0.000001.
TEST(ZeroMetrics, NameTheCountThatNoRunCanHave) {
  const auto zeros = [](const Load& load) {
    return zero_metrics(energy_metrics({60000, 2, load})).codes();
  };
  using Codes = std::vector<std::string>;
  constexpr std::int64_t kBillions = 1'000'000'000'000;
  EXPECT_EQ(zeros(load(60, 1, 1, kBillions / 10)), Codes{});
  EXPECT_EQ(zeros(load(60, 1, 1, kBillions)), Codes{"invalid_output_token_count"});
  EXPECT_EQ(zeros(load(60, 1, kBillions, 1)),
            (Codes{"invalid_input_token_count", "invalid_output_token_count"}));
  EXPECT_EQ(zeros(load(60, kBillions, 1, 1)), Codes{"invalid_successful_query_count"});
  EXPECT_EQ(zero_metrics(energy_metrics({0, 2, load(60, 1, 1, 1)})).codes(), Codes{});
  EXPECT_EQ(zero_metrics(energy_metrics({0.0001, 2, load(60, 1, 1, 1)})).codes(),
            Codes{"implausible_power"});
}

}  // namespace metrics_test
}  // namespace aggregate_power
