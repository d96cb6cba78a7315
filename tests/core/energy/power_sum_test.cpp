// Sums by hand, and against a slow sum of interpolated powers.
#include "core/energy/fleet_power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace aggregate_power {
namespace power_sum_test {

using Knots = std::vector<PowerKnot>;

struct Row {
  std::uint32_t device;
  Sample sample;
};

Knots sum_of_rows(const std::vector<Row>& rows, double max_gap_s = 3,
                  Interpolation interpolation = Interpolation::linear) {
  std::map<std::uint32_t, std::vector<Sample>> devices;
  for (const Row& row : rows) devices[row.device].push_back(row.sample);
  std::vector<std::span<const Sample>> spans;
  for (const auto& [device, samples] : devices) spans.emplace_back(samples);
  Knots knots;
  sum_powers({interpolation, max_gap_s}, spans,
             [&](const PowerKnot& knot) { knots.push_back(knot); });
  return knots;
}

void expect_knots(const Knots& expected, const Knots& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].unix_s, found[i].unix_s) << i;
    EXPECT_NEAR(expected[i].watts, found[i].watts, 1e-9) << i;
    EXPECT_EQ(expected[i].is_connected, found[i].is_connected) << i;
  }
}

TEST(PowerSum, AddsSamplesOfOneTime) {
  expect_knots({{0, 300, false}, {1, 500, true}},
               sum_of_rows({{0, {0, 100}}, {1, {0, 200}}, {0, {1, 200}}, {1, {1, 300}}}));
}

// At 1 s device 1 is between 100 W at 0.5 s and 200 W at 1.5 s: 150 W.
TEST(PowerSum, InterpolatesBetweenSamples) {
  expect_knots({{0.5, 150, false}, {1, 250, true}, {1.5, 350, true}, {2, 450, true}},
               sum_of_rows({{0, {0, 0}},
                            {1, {0.5, 100}},
                            {0, {1, 100}},
                            {1, {1.5, 200}},
                            {0, {2, 200}},
                            {1, {2.5, 300}}}));
}

TEST(PowerSum, IsUnknownWhereADeviceIs) {
  expect_knots({{0, 20, false}, {1, 20, true}, {5, 20, false}, {6, 20, true}},
               sum_of_rows({{0, {0, 10}},
                            {1, {0, 10}},
                            {0, {1, 10}},
                            {1, {1, 10}},
                            {0, {2, 10}},
                            {0, {3, 10}},
                            {0, {4, 10}},
                            {0, {5, 10}},
                            {1, {5, 10}},
                            {0, {6, 10}},
                            {1, {6, 10}}}));
}

TEST(PowerSum, HoldsPowersThatAreHeld) {
  expect_knots({{1, 30, false}, {4, 50, true}, {9, 35, true}},
               sum_of_rows({{0, {0, 10}}, {1, {1, 20}}, {1, {4, 40}}, {0, {9, -5}}}, 3,
                           Interpolation::hold));
}

// What each device draws at an instant; nullopt: it is not known.
std::optional<double> slow_watts(const std::vector<Sample>& samples, double unix_s,
                                 double max_gap_s) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].unix_s == unix_s) return samples[i].watts;
    if (i == 0 || samples[i - 1].unix_s > unix_s || samples[i].unix_s < unix_s) continue;
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    if (b.unix_s - a.unix_s > max_gap_s) return std::nullopt;
    return a.watts + (unix_s - a.unix_s) / (b.unix_s - a.unix_s) * (b.watts - a.watts);
  }
  return std::nullopt;
}

TEST(PowerSum, AgreesWithASlowSum) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 4; ++round) {
    constexpr std::size_t kDevices = 3;
    std::vector<std::vector<Sample>> devices(kDevices);
    std::vector<Row> rows;
    for (std::uint32_t device = 0; device < kDevices; ++device) {
      double unix_s = 1.7e9 + std::floor(4 * unit(random)) / 4;
      for (int i = 0; i < 1500; ++i) {
        unix_s += unit(random) < 0.001 ? 7.25 : std::floor(1 + 4 * unit(random)) / 8;
        devices[device].push_back({unix_s, 1000 * unit(random)});
        rows.push_back({device, devices[device].back()});
      }
    }
    std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.sample.unix_s; });
    const Knots knots = sum_of_rows(rows, 3);
    std::size_t next = 0;
    double last_s = 0;
    for (const Row& row : rows) {
      const double unix_s = row.sample.unix_s;
      if (unix_s == last_s) continue;
      last_s = unix_s;
      double expected = 0;
      bool is_known = true;
      for (const auto& samples : devices) {
        const auto watts = slow_watts(samples, unix_s, 3);
        is_known = is_known && watts;
        expected += watts.value_or(0);
      }
      if (!is_known) continue;
      ASSERT_LT(next, knots.size());
      EXPECT_EQ(knots[next].unix_s, unix_s);
      EXPECT_NEAR(knots[next].watts, expected, 1e-6);
      ++next;
    }
    EXPECT_EQ(next, knots.size());
  }
}

}  // namespace power_sum_test
}  // namespace aggregate_power
