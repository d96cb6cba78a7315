// Samples around a window, and what rows say, against counting row by row.
#include "energy/uncertainty/gather.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace gather_test {

constexpr Window kWindow = {100, 200};
constexpr double kCapped = 0x4;
constexpr double kHot = 0x20;

struct GatheredRow {
  Reading reading;
  GpuState state;
};

GpuState state_of(double limit_w, double reasons, double utilization_pct) {
  GpuState state;
  state.values[static_cast<std::size_t>(GpuQuantity::power_limit_w)] = limit_w;
  state.values[static_cast<std::size_t>(GpuQuantity::clock_reasons)] = reasons;
  state.values[static_cast<std::size_t>(GpuQuantity::utilization_pct)] = utilization_pct;
  return state;
}

std::vector<GatheredReadings> gathered_from(std::span<const GatheredRow> rows, std::size_t batch) {
  static const std::vector<std::string> kNames = {"0", "1", "2", "3", "4", "5", "6", "7"};
  Samples samples(kAlways);
  StateNotes notes(kWindow);
  for (; !rows.empty(); rows = rows.subspan(std::min(batch, rows.size()))) {
    std::vector<Reading> readings;
    std::vector<GpuState> states;
    std::vector<std::uint32_t> states_of_rows;
    for (const GatheredRow& row : rows.first(std::min(batch, rows.size()))) {
      readings.push_back(row.reading);
      // A row that says the same as the one before shares its state; NaN is never the same.
      if (states.empty() || states.back().values != row.state.values) states.push_back(row.state);
      states_of_rows.push_back(static_cast<std::uint32_t>(states.size() - 1));
    }
    samples.take(readings);
    notes.take({readings, {states, states_of_rows}});
  }
  samples.sort();
  return gather(kWindow, std::move(samples), notes, kNames);
}

// What is expected of one GPU, found row by row.
struct Expected {
  std::vector<Sample> samples = {};
  bool are_whole_seconds = true;
  double reasoned = 0;
  double capped = 0;
  double throttled = 0;
  double least_utilization_pct = 1000;  // more than any
  std::set<double> limits_w = {};

  void add(const Reading& reading, const GpuState& state) {
    if (reading.unix_s < 40 || reading.unix_s > 260) return;
    samples.push_back({reading.unix_s, reading.watts});
    are_whole_seconds = are_whole_seconds && reading.unix_s == std::floor(reading.unix_s);
    if (reading.unix_s < 100 || reading.unix_s > 200) return;
    const double limit_w = state[GpuQuantity::power_limit_w];
    if (limit_w > 0) limits_w.insert(limit_w);
    const double reasons = state[GpuQuantity::clock_reasons];
    reasoned += reasons >= 0 ? 1 : 0;
    capped += reasons == kCapped || reasons == kCapped + kHot ? 1 : 0;
    throttled += reasons == kHot || reasons == kCapped + kHot ? 1 : 0;
    const double utilization_pct = state[GpuQuantity::utilization_pct];
    if (utilization_pct >= 0) {
      least_utilization_pct = std::min(least_utilization_pct, utilization_pct);
    }
  }
};

std::map<std::string, Expected> expected_of(std::span<const GatheredRow> rows) {
  std::map<std::string, Expected> gpus;
  for (const auto& [reading, state] : rows) {
    if (reading.kind == Reading::Kind::power) {
      gpus[std::to_string(reading.device)].add(reading, state);
    }
  }
  std::erase_if(gpus, [](const auto& gpu) { return gpu.second.samples.empty(); });
  for (auto& [name, gpu] : gpus) std::ranges::stable_sort(gpu.samples, {}, &Sample::unix_s);
  return gpus;
}

void expect_gathered(std::span<const GatheredRow> rows) {
  const auto expected = expected_of(rows);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, rows.size()}) {
    const std::vector<GatheredReadings> gathered = gathered_from(rows, batch);
    ASSERT_EQ(gathered.size(), expected.size());
    for (const GatheredReadings& gpu : gathered) {
      const Expected& own = expected.at(gpu.gpu);
      EXPECT_TRUE(std::ranges::equal(gpu.samples, own.samples, [](auto one, auto other) {
        return one.unix_s == other.unix_s && one.watts == other.watts;
      })) << gpu.gpu;
      EXPECT_EQ(gpu.are_whole_seconds, own.are_whole_seconds) << gpu.gpu;
      const auto share = [&](double count) {
        return own.reasoned > 0 ? std::optional(count / own.reasoned) : std::nullopt;
      };
      EXPECT_EQ(gpu.conditions.capped_share, share(own.capped)) << gpu.gpu;
      EXPECT_EQ(gpu.conditions.throttled_share, share(own.throttled)) << gpu.gpu;
      EXPECT_EQ(gpu.conditions.least_utilization_pct.value_or(1000), own.least_utilization_pct);
      EXPECT_EQ(gpu.limits_w.size(), std::min<std::size_t>(own.limits_w.size(), 2)) << gpu.gpu;
    }
  }
}

TEST(Gather, KeepsTheOrderOfEqualStamps) {
  // GPU 1 comes twice in a round, and two rounds have one stamp.
  std::vector<GatheredRow> rows;
  double watts = 0;
  for (const double unix_s : {100., 100., 101., 101., 101., 50.}) {
    for (const std::uint32_t device : {0U, 1U, 1U}) rows.push_back({{unix_s, ++watts, device}, {}});
  }
  expect_gathered(rows);
}

TEST(Gather, TakesRoundsAndAllElse) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < test::rounds(300); ++round) {
    std::vector<GatheredRow> rows;
    const std::uint32_t devices = 1 + below(8);
    const std::uint32_t odd = below(3) == 0 ? 0 : 1 + below(20);  // one row in so many
    const std::uint32_t other = 1 + below(100);                   // one row in so many says another
    const double period_s = 3 - 0.5 * below(2);
    GpuState state;
    // From before the readings that are kept to after them.
    for (std::uint32_t i = 0; i < 100 * devices; ++i) {
      Reading reading{30 + (i / devices) * period_s, 1.0 * i, i % devices};
      if (odd > 0 && below(odd) == 0) {
        if (below(2) == 0) reading.device = below(8);
        reading.kind = static_cast<Reading::Kind>(below(4));
        reading.unix_s += below(2) * (below(3) - 1.0);
        if (reading.kind == Reading::Kind::no_device) reading.device = kNoDevice;
      }
      if (below(other) == 0) {
        state = state_of(700 - 50 * below(2), kCapped * below(2) + kHot * below(2), below(100));
      }
      // A stamp without power is no evidence against whole seconds.
      if (reading.kind != Reading::Kind::power) reading.unix_s += 0.25;
      rows.push_back({reading, state});
    }
    expect_gathered(rows);
  }
}

TEST(Gather, CountsWhatRowsInsideTheWindowSay) {
  std::vector<GatheredRow> rows;
  for (std::uint32_t second = 0; second < 100; ++second) {
    const double unix_s = 101 + 2 * second;  // half of them are inside
    rows.push_back({{unix_s, 300, 0}, state_of(700, second < 20 ? kCapped : 0, 90)});
    rows.push_back({{unix_s, 300, 1}, state_of(second == 30 ? 650 : 700, kHot, 90 - second)});
    rows.push_back({{unix_s, 300, 2}, {}});
  }
  for (const std::size_t batch : {1, 10, 300}) {
    const std::vector<GatheredReadings> gathered = gathered_from(rows, batch);
    ASSERT_EQ(gathered.size(), 3U);
    EXPECT_EQ(gathered[0].conditions.limit_w, 700);
    EXPECT_EQ(gathered[0].conditions.capped_share, 20.0 / 50);
    EXPECT_EQ(gathered[0].conditions.throttled_share, 0);
    EXPECT_EQ(gathered[0].conditions.least_utilization_pct, 90);
    EXPECT_EQ(gathered[1].conditions.limit_w, std::nullopt) << "it was changed";
    EXPECT_EQ(gathered[1].limits_w, (std::vector<double>{700, 650}));
    EXPECT_EQ(gathered[1].conditions.capped_share, 0);
    EXPECT_EQ(gathered[1].conditions.throttled_share, 1);
    EXPECT_EQ(gathered[1].conditions.least_utilization_pct, 90 - 49);
    EXPECT_EQ(gathered[2].conditions.capped_share, std::nullopt);
    EXPECT_EQ(gathered[2].conditions.least_utilization_pct, std::nullopt);
  }
}

TEST(Gather, KnowsWhetherAllStampsAreWholeSeconds) {
  std::vector<GatheredRow> rows;
  for (std::uint32_t i = 0; i < 40; ++i) {
    rows.push_back({{110. + i, 300, 0}, {}});
    rows.push_back({{110. + i + (i == 20 ? 0.5 : 0), 300, 1}, {}});
  }
  const std::vector<GatheredReadings> gathered = gathered_from(rows, 32);
  EXPECT_TRUE(gathered.at(0).are_whole_seconds);
  EXPECT_FALSE(gathered.at(1).are_whole_seconds);
}

// 20 rows in each half of the window: 50 and 56 C, 90 and 91 %, 1500 and 1470 MHz.
TEST(Gather, ComparesTheHalvesOfTheWindow) {
  std::vector<GatheredRow> rows;
  for (int i = 0; i < 40; ++i) {
    const bool is_second = i >= 20;
    GpuState state = state_of(700, 0, is_second ? 91 : 90);
    state.values[static_cast<std::size_t>(GpuQuantity::temperature_c)] = is_second ? 56 : 50;
    state.values[static_cast<std::size_t>(GpuQuantity::clock_mhz)] = is_second ? 1470 : 1500;
    rows.push_back({{.unix_s = 100.5 + 2.5 * i, .watts = 400}, state});
  }
  const auto halves = gathered_from(rows, 7).front().conditions.halves;
  ASSERT_TRUE(halves);
  EXPECT_DOUBLE_EQ(halves->temperature_c, 6);
  EXPECT_DOUBLE_EQ(*halves->utilization_pct, 1);
  EXPECT_DOUBLE_EQ(*halves->clock_share, -0.02);
  EXPECT_FALSE(halves->cooling_s);  // nothing is recorded after it
  for (GatheredRow& row : rows) {
    row.state.values[static_cast<std::size_t>(GpuQuantity::temperature_c)] = 50;
  }
  EXPECT_FALSE(gathered_from(rows, 7).front().conditions.halves);
  EXPECT_FALSE(gathered_from(std::span(rows).first(29), 7).front().conditions.halves);  // 9 rows
}

}  // namespace gather_test
}  // namespace aggregate_power
