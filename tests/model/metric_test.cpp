// Energy to the published numbers: contract.md A.2, A.8 and B.5, golden.md section 6.
#include "aggregate_power/metric.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

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
  expect(schema_2_metrics({600, 4800, 288000, 30, 240000, 30000}),
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
  const Metrics metrics = schema_2_metrics({500, 4000, 40000, 64, 524288, 65536});
  EXPECT_DOUBLE_EQ(metrics[5].value / metrics[6].value, 9);
  EXPECT_EQ(metrics[5].value, 40000.0 / 65536);
}

TEST(Schema2Metrics, AddUpTokensBeyondDoublesAndInt64) {
  const Metrics metrics = schema_2_metrics({1, 1, 1e18, 1, INT64_MAX, INT64_MAX});
  EXPECT_DOUBLE_EQ(metrics[6].value, 1e18 / (2 * 9223372036854775807.0));
}

TEST(Schema1Metrics, AreTheThreeInOrder) {
  // 600 W x 8 x 60 s.
  expect(schema_1_metrics(600, 8, 60, 240000, 30000), {{"avg_power_w", 3, 600.0},
                                                       {"joules_per_output_token", 6, 9.6},
                                                       {"joules_per_total_token", 6, 1.066667}});
  // golden.md: 8 x 500 W x 10 s / 20,000; two samples of 500 W, 2 s, 500 tokens.
  expect(schema_1_metrics(500, 8, 10, 0, 20000), {{"avg_power_w", 3, 500.0},
                                                  {"joules_per_output_token", 6, 2.0},
                                                  {"joules_per_total_token", 6, 2.0}});
  expect(schema_1_metrics(500, 1, 2, 0, 500), {{"avg_power_w", 3, 500.0},
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

// CPython's round().
TEST(RoleMetrics, ArePrefillByInputAndDecodeByOutput) {
  // 2 GPUs at 150 W and 4 at 350 W for 100 s; 3,000 tokens in, 700 out.
  const Metrics metrics = role_metrics({2, 30000}, {4, 140000}, 100, 3000, 700);
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
  EXPECT_TRUE(role_metrics({}, {}, 100, 3000, 700).empty());
  EXPECT_EQ(role_metrics({}, {1, 5}, 100, 3000, 700)[0].key, "decode_gpu_energy_j");
}

TEST(Rounded, IsPythonsRound) {
  const struct {
    double value;
    int decimals;
    double expected;
  } cases[] = {
      {20.5078125, 6, 20.507812},  // a tie: to even
      {-20.5078125, 6, -20.507812},
      {41.015625, 5, 41.01562},
      {41.015625, 6, 41.015625},
      {0.008125, 5, 0.00813},  // no tie in binary
      {2.675, 2, 2.67},
      {1.0005, 3, 1.0},
      {0.0005, 3, 0.001},
      {0.0015, 3, 0.002},
      {0.4995, 3, 0.499},
      {0.4985, 3, 0.498},
      {349.86875, 3, 349.869},
      {347.12125, 3, 347.121},
      {2.5e-07, 6, 0.0},
      {7.5e-07, 6, 1e-06},
      {5e-07, 6, 0.0},
      {1e+22, 3, 1e+22},
      {123456789.12345678, 3, 123456789.123},
      {-1e-09, 6, -0.0},
      {0.0, 3, 0.0},
      {1.5, 0, 2.0},
      {2.5, 0, 2.0},
      {0.1, 3, 0.1},
      {1.0 / 3, 6, 0.333333},
      {2.0 / 3, 6, 0.666667},
      {1e-320, 6, 0.0},
      {std::numeric_limits<double>::max(), 3, std::numeric_limits<double>::max()},
      {600.0, 3, 600.0},
      {1.0666666666666667, 6, 1.066667},
      {1.0666665, 6, 1.066666},
      {41.01562499999999, 6, 41.015625},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(rounded(c.value, c.decimals)),
              std::bit_cast<std::uint64_t>(c.expected))
        << c.value << " to " << c.decimals << ": " << rounded(c.value, c.decimals);
  }
}

TEST(Rounded, LeavesAloneWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded(infinity, 3), infinity);
  EXPECT_EQ(rounded(-infinity, 3), -infinity);
  EXPECT_TRUE(std::isnan(rounded(std::nan(""), 3)));
}

}  // namespace
}  // namespace aggregate_power
