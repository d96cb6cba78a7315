// The energy counters against the integral: contract.md B.8.
#include "core/energy/counter_check.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace counter_check_test {

using Kind = Reading::Kind;
using Names = std::vector<std::string>;
using Readings = std::vector<Reading>;
using Deltas = std::vector<std::pair<std::string, double>>;

std::vector<StreamEnergy> stream_of(const Readings& readings) {
  Samples power(kAlways);
  Samples negative(kAlways, Kind::negative_power);
  for (Samples* const some : {&power, &negative}) {
    some->take(readings);
    some->sort();
  }
  return stream_energies(power, negative);
}

double energy_of(const Readings& readings) { return stream_of(readings)[0].energy_j; }

TEST(StreamEnergy, IsTheTrapezoidOverEveryReading) {
  // 100 to 300 W over 2 s, then 300 W for 5 s.
  EXPECT_DOUBLE_EQ(energy_of({{0, 100}, {2, 300}, {7, 300}}), 400 + 1500);
  EXPECT_EQ(energy_of({{5, 100}}), 0);
}

TEST(StreamEnergy, CountsNegativeReadingsAndNoOthers) {
  // -100 W between 100 and 300 W: 0 and 100 W on average.
  EXPECT_DOUBLE_EQ(energy_of({{0, 100},
                              {1, -100, 0, Kind::negative_power},
                              {2, 300},
                              {1.5, 9999, 0, Kind::no_power},
                              {1.6, 9999, 0, Kind::no_device},
                              {0, 9999, 0, Kind::bad_timestamp}}),
                   100);
}

// Samples of one stamp count as sorted by power, and nothing is averaged: the line comes in at the
// lowest and leaves from the highest.
TEST(StreamEnergy, SortsReadingsOfOneStampByPower) {
  const double expected = (100 + 200) / 2.0 + (600 + 100) / 2.0;
  EXPECT_DOUBLE_EQ(energy_of({{0, 100}, {1, 400}, {1, 200}, {1, 600}, {2, 100}}), expected);
  EXPECT_DOUBLE_EQ(energy_of({{0, 100}, {1, 600}, {1, 400}, {1, 200}, {2, 100}}), expected);
  // At the first and the last stamp.
  EXPECT_DOUBLE_EQ(energy_of({{0, 300}, {0, 100}, {1, 500}, {1, 700}}), (300 + 500) / 2.0);
}

TEST(StreamEnergy, KeepsDevicesApart) {
  const std::vector<StreamEnergy> stream =
      stream_of({{0, 100, 2}, {0, 50, 0}, {4, 100, 2}, {3, 50, 0}});
  ASSERT_EQ(stream.size(), 3u);
  EXPECT_DOUBLE_EQ(stream[0].energy_j, 150);
  EXPECT_FALSE(stream[1].seen);
  EXPECT_DOUBLE_EQ(stream[2].energy_j, 400);
  EXPECT_EQ(stream[2].first_unix_s, 0);
  EXPECT_EQ(stream[2].last_unix_s, 4);
}

// GPUs 0 and 1 at 100 W from 10 to 20 and from 12 to 22: 1000 J each.
const Readings kTwo = {{10, 100, 0}, {12, 100, 1}, {20, 100, 0}, {22, 100, 1}};

TEST(CheckAccumulator, ComparesCountersWithTheIntegral) {
  const CounterCheck check = check_counters({{"0", 5000}, {"1", 100}}, {{"0", 6010}, {"1", 1110}},
                                            stream_of(kTwo), Names{"0", "1"});
  EXPECT_EQ(check.unavailable, "");
  EXPECT_EQ(check.accumulator_delta_j, 2020);
  EXPECT_DOUBLE_EQ(check.integrated_stream_j, 2000);
  ASSERT_TRUE(check.relative_error);
  EXPECT_DOUBLE_EQ(*check.relative_error, 20.0 / 2020);
  EXPECT_TRUE(check.within_tolerance);
  EXPECT_EQ(check.tolerance, 0.05);
  EXPECT_EQ(check.per_gpu_delta_j, (Deltas{{"0", 1010}, {"1", 1010}}));
  EXPECT_EQ(check.integrated_gpu_ids, (Names{"0", "1"}));
  EXPECT_EQ(check.unmatched_gpus, Names{});
  EXPECT_EQ(check.negative_delta_gpus, Names{});
  EXPECT_EQ(check.stream_span_s, 12);  // 10 to 22
}

TEST(CheckAccumulator, AllowsFivePercent) {
  const auto within = [](double delta_j) {
    // One GPU, integral 1000 J.
    return check_counters({{"0", 0}}, {{"0", delta_j}}, stream_of({{0, 100}, {10, 100}}),
                          Names{"0"})
        .within_tolerance;
  };
  EXPECT_TRUE(within(1000));
  EXPECT_TRUE(within(1052));   // 52 / 1052 = 4.94 %
  EXPECT_FALSE(within(1053));  // 53 / 1053 = 5.03 %
  EXPECT_TRUE(within(953));    // 47 / 953 = 4.93 %
  EXPECT_FALSE(within(952));   // 48 / 952 = 5.04 %
}

TEST(CheckAccumulator, HasNoErrorUnlessTheCountersWentUp) {
  for (const double end_j : {100.0, 50.0}) {
    const CounterCheck check =
        check_counters({{"0", 100}}, {{"0", end_j}}, stream_of({{0, 100}, {10, 100}}), Names{"0"});
    EXPECT_EQ(check.relative_error, std::nullopt);
    EXPECT_FALSE(check.within_tolerance);
    EXPECT_EQ(check.negative_delta_gpus, end_j < 100 ? Names{"0"} : Names{});
  }
}

TEST(CheckAccumulator, ANegativeCounterIsNeverWithinTolerance) {
  // 1100 J up, 100 J down: 1000 J in all, as much as the integral of GPU 0 and of GPU 1.
  const CounterCheck check = check_counters({{"0", 0}, {"1", 500}}, {{"0", 2100}, {"1", 400}},
                                            stream_of(kTwo), Names{"0", "1"});
  EXPECT_EQ(check.accumulator_delta_j, 2000);
  EXPECT_EQ(check.relative_error, 0);
  EXPECT_FALSE(check.within_tolerance);
  EXPECT_EQ(check.negative_delta_gpus, Names{"1"});
}

TEST(CheckAccumulator, MatchesGpusByName) {
  // 0 in both and in the stream, 1 in the stream only, 2 in the start only, 10 in both but not in
  // the stream, x in the end only.
  const CounterCheck check =
      check_counters({{"2", 1}, {"10", 5}, {"0", 100}}, {{"10", 7}, {"x", 1}, {"0", 1100}},
                     stream_of(kTwo), Names{"0", "1"});
  EXPECT_EQ(check.per_gpu_delta_j, (Deltas{{"0", 1000}, {"10", 2}}));
  EXPECT_EQ(check.accumulator_delta_j, 1002);
  EXPECT_EQ(check.integrated_gpu_ids, Names{"0"});
  EXPECT_DOUBLE_EQ(check.integrated_stream_j, 1000);
  EXPECT_EQ(check.unmatched_gpus, (Names{"2", "x"}));
}

TEST(CheckAccumulator, SortsAsGpuIdsAre) {
  const EnergySnapshot start = {{"10", 9}, {"2", 9}, {"GPU-a", 9}, {"1", 9}, {"7", 1}, {"30", 1}};
  const EnergySnapshot end = {{"10", 0}, {"2", 0}, {"GPU-a", 0}, {"1", 0}, {"6", 1}, {"z", 1}};
  Readings readings;
  const Names names = {"GPU-a", "10", "1", "2"};
  for (std::uint32_t i = 0; i < 4; ++i) readings.push_back({5, 1, i});
  const CounterCheck check = check_counters(start, end, stream_of(readings), names);
  const Names sorted = {"1", "2", "10", "GPU-a"};
  EXPECT_EQ(check.negative_delta_gpus, sorted);
  EXPECT_EQ(check.integrated_gpu_ids, sorted);
  EXPECT_EQ(check.unmatched_gpus, (Names{"6", "7", "30", "z"}));
}

TEST(CheckAccumulator, WorksWithoutAStream) {
  const CounterCheck check = check_counters({{"0", 1}}, {{"0", 11}}, stream_of({}), Names{});
  EXPECT_EQ(check.integrated_stream_j, 0);
  EXPECT_EQ(check.integrated_gpu_ids, Names{});
  EXPECT_EQ(check.stream_span_s, 0);
  EXPECT_EQ(check.relative_error, 1);
  EXPECT_FALSE(check.within_tolerance);
}

}  // namespace counter_check_test
}  // namespace aggregate_power
