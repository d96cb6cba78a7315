#include "energy/zones/clock_offset.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace clock_offset_test {

constexpr double kStart = 1'800'000'000;
constexpr Window kWindow = {kStart, kStart + 300};

struct Host {
  double late_s = 0;  // its clock is ahead by so much
  double interval_s = 1;
  double idle_w = 100;
  double busy_w = 600;
  double slope_s = 0;  // how long power takes to rise and to fall
  double noise_w = 0;
};

// A load from 2 s behind the window's start to 2 s before its end.
double watts(const Host& host, double true_s) {
  const double in_s = std::min(true_s - (kStart + 2), kStart + 298 - true_s);
  const double share = host.slope_s > 0 ? in_s / host.slope_s : (in_s >= 0 ? 1.0 : 0.0);
  return host.idle_w + (host.busy_w - host.idle_w) * std::min(std::max(share, 0.0), 1.0);
}

LoadEdges edges_of(const Host& host) {
  LoadEdgeFinder finder(kWindow);
  std::uint32_t state = 1;
  for (double unix_s = kStart - 60; unix_s < kStart + 360; unix_s += host.interval_s) {
    state = state * 1664525 + 1013904223;
    const double noise_w = host.noise_w * (state / 4294967296.0 - 0.5);
    const Reading reading = {unix_s, watts(host, unix_s - host.late_s) + noise_w, 0,
                             Reading::Kind::power};
    finder.take({&reading, 1});
  }
  return finder.edges();
}

std::vector<std::optional<ClockOffset>> offsets_of(const std::vector<Host>& hosts) {
  std::vector<LoadEdges> edges;
  for (const Host& host : hosts) edges.push_back(edges_of(host));
  return estimate_clock_offsets(edges);
}

TEST(ClockOffset, AShiftIsFoundToWithinASample) {
  for (const double late_s : {-20.0, -5.0, -1.3, 0.0, 0.4, 5.0, 12.7, 20.0}) {
    const auto offsets = offsets_of({{}, {.late_s = late_s}, {}});
    ASSERT_TRUE(offsets[1]) << late_s;
    EXPECT_NEAR(offsets[1]->offset_s, -late_s, 1) << late_s;
    EXPECT_GE(offsets[1]->uncertainty_s, std::abs(offsets[1]->offset_s + late_s)) << late_s;
    EXPECT_EQ(is_large(*offsets[1], 1), std::abs(late_s) >= 5) << late_s;
    EXPECT_NEAR(offsets[0]->offset_s, 0, 1e-9);
  }
}

TEST(ClockOffset, SlowRecordersKnowItLessWell) {
  const auto offsets = offsets_of({{}, {.late_s = 5, .interval_s = 4}, {}});
  ASSERT_TRUE(offsets[1]);
  EXPECT_NEAR(offsets[1]->offset_s, -5, 4);
  EXPECT_GE(offsets[1]->uncertainty_s, 2.5);
  EXPECT_FALSE(is_large(*offsets[1], 4));
}

TEST(ClockOffset, HostsOfOtherPowerAgree) {
  const auto offsets = offsets_of({{}, {.late_s = 7, .idle_w = 60, .busy_w = 90, .noise_w = 10}});
  ASSERT_TRUE(offsets[1]);
  EXPECT_NEAR(offsets[1]->offset_s, -7, 1.5);
}

TEST(ClockOffset, MostHostsAreRight) {
  const auto offsets = offsets_of({{.late_s = 9}, {}, {}, {}, {.late_s = -4}});
  EXPECT_NEAR(offsets[0]->offset_s, -9, 1);
  EXPECT_NEAR(offsets[2]->offset_s, 0, 1e-9);
  EXPECT_NEAR(offsets[4]->offset_s, 4, 1);
}

TEST(ClockOffset, WhatShowsNoEdgeShowsNothing) {
  EXPECT_FALSE(offsets_of({{}, {.idle_w = 600}})[1]);                  // always busy
  EXPECT_FALSE(offsets_of({{}, {.idle_w = 600, .noise_w = 200}})[1]);  // and noisy
  EXPECT_FALSE(offsets_of({{}, {.busy_w = 103}})[1]);                  // hardly busier
  EXPECT_FALSE(offsets_of({{}, {.idle_w = 600, .busy_w = 100}})[1]);   // the other way round
  EXPECT_FALSE(offsets_of({{}, {.slope_s = 60}})[1]);                  // a slope
  EXPECT_FALSE(offsets_of({{}, {.interval_s = 1000}})[1]);             // one sample
  EXPECT_FALSE(offsets_of({{.idle_w = 600}, {}})[1]);                  // no one to compare with
  EXPECT_TRUE(estimate_clock_offsets({}).empty());
}

TEST(ClockOffset, EdgesThatDisagreeAreUncertain) {
  const LoadEdge rise = {100, 0.5};
  const LoadEdge fall = {200, 0.5};
  const LoadEdges hosts[] = {{rise, fall, 1}, {LoadEdge{110, 0.5}, fall, 1}, {rise, {}, 1}};
  const auto offsets = estimate_clock_offsets(hosts);
  EXPECT_EQ(offsets[1]->offset_s, -5);  // (100 - 110) and (200 - 200)
  EXPECT_EQ(offsets[1]->uncertainty_s, 5);
  EXPECT_FALSE(is_large(*offsets[1], 1));
  EXPECT_EQ(offsets[2]->offset_s, 0);
  EXPECT_EQ(offsets[2]->uncertainty_s, 1);
}

}  // namespace clock_offset_test
}  // namespace aggregate_power
