#include "energy/shares/idle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aggregate_power {
namespace idle_power_test {

constexpr Window kLoad = {100, 200};
constexpr double kStudent4 = 2.7764451;

// A reading a second, with `watts(second)`.
template <typename Watts>
IdleGpu gpu(int first_s, int last_s, Watts watts) {
  IdleGpu gpu{{}, 500};
  for (int s = first_s; s <= last_s; ++s) gpu.samples.push_back({double(s), double(watts(s))});
  return gpu;
}

// 80 W before the load and 90 W after it.
double plain(int s) { return s < 100 ? 80 : s <= 200 ? 500 : 90; }

TEST(IdleBefore, EndsTwoSecondsBeforeTheLoadAndBeginsWithTheRecording) {
  const std::vector<IdleGpu> gpus = {gpu(70, 260, plain)};
  const auto found = idle_before(gpus, kLoad, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start_unix_s, 70);
  EXPECT_EQ(found->end_unix_s, 98);
}

TEST(IdleBefore, GoesBackSixtySeconds) {
  const std::vector<IdleGpu> gpus = {gpu(0, 260, plain)};
  EXPECT_EQ(idle_before(gpus, kLoad, 3)->start_unix_s, 40);
}

TEST(IdleAfter, LeavesOutTheFirstFiveSeconds) {
  const std::vector<IdleGpu> gpus = {gpu(95, 240, plain)};
  EXPECT_FALSE(idle_before(gpus, kLoad, 3));  // 95 to 98 s
  const auto found = idle_after(gpus, kLoad, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start_unix_s, 205);
  EXPECT_EQ(found->end_unix_s, 240);
}

TEST(IdleBefore, NeedsTenSecondsOfEachGpu) {
  EXPECT_FALSE(idle_before(std::vector{gpu(89, 260, plain)}, kLoad, 3));  // 89 to 98: 9 s
  EXPECT_TRUE(idle_before(std::vector{gpu(88, 260, plain)}, kLoad, 3));
  EXPECT_FALSE(idle_before(std::vector{gpu(60, 260, plain), gpu(89, 260, plain)}, kLoad, 3));
  const auto shared = idle_before(std::vector{gpu(60, 260, plain), gpu(80, 260, plain)}, kLoad, 3);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->start_unix_s, 80);
}

TEST(IdleBefore, SkipsAWarmUpAndTakesThePlateauBeforeIt) {
  const auto warm_up = [](int s) { return s >= 75 && s < 95 ? 400 : plain(s); };
  const auto found = idle_before(std::vector{gpu(40, 260, warm_up)}, kLoad, 3);
  ASSERT_TRUE(found);
  // From 95 to 98 s is too short. To 74 s, and one reading of the warm-up would not be flat.
  EXPECT_EQ(found->start_unix_s, 40);
  EXPECT_EQ(found->end_unix_s, 74);
}

TEST(IdleBefore, RefusesAStretchThatMovesOrIsNotLow) {
  // 76 and 84 W in turn: 4 W is 5 %, and a sample's deviation is a little more.
  const auto restless = [](int s) { return s < 100 ? 80 + (s % 2 == 0 ? 4 : -4) : 500; };
  EXPECT_FALSE(idle_before(std::vector{gpu(40, 260, restless)}, kLoad, 3));
  const auto quiet = [](int s) { return s < 100 ? 80 + (s % 2 == 0 ? 3 : -3) : 500; };
  EXPECT_TRUE(idle_before(std::vector{gpu(40, 260, quiet)}, kLoad, 3));
  // 2.5 W of 20 W is 12.5 %, and below 3 W.
  const auto small = [](int s) { return s < 100 ? 20 + (s % 2 == 0 ? 2.5 : -2.5) : 500; };
  EXPECT_TRUE(idle_before(std::vector{gpu(40, 260, small)}, kLoad, 3));
  // 60 % of 500 W is 300 W.
  const auto high = [](int s) { return s < 100 ? 300 : 500; };
  EXPECT_FALSE(idle_before(std::vector{gpu(40, 260, high)}, kLoad, 3));
  const auto lower = [](int s) { return s < 100 ? 299 : 500; };
  EXPECT_TRUE(idle_before(std::vector{gpu(40, 260, lower)}, kLoad, 3));
}

TEST(IdleBefore, DoesNotBridgeGaps) {
  IdleGpu gapped = gpu(40, 260, plain);
  std::erase_if(gapped.samples, [](const Sample& s) { return s.unix_s > 80 && s.unix_s < 84; });
  const auto found = idle_before(std::vector{gapped}, kLoad, 3);  // 80 to 84 s: a gap of 4 s
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start_unix_s, 84);
}

TEST(IdleMeans, AreThoseOfBlocks) {
  // Five blocks of 2 s, of 80, 81, 82, 83 and 84 W: the mean is 82 W, the variance (4+1+0+1+4)/4.
  // Student's t of 95 % for four degrees of freedom is 2.7764451.
  IdleGpu steps{{}, 500};
  for (int i = 0; i < 10; ++i) steps.samples.push_back({i + 0.5, 80.0 + i / 2});
  const auto means = idle_means(std::vector{steps}, {0, 10}, 3);
  ASSERT_TRUE(means);
  EXPECT_DOUBLE_EQ(means->total.watts, 82);
  EXPECT_NEAR(1.96 * means->total.standard_uncertainty_w, kStudent4 * std::sqrt(2.5 / 5), 1e-6);
}

TEST(IdleMeans, AddLinearlyWhereGpusDriftTogetherAndCancelWhereTheyDoNot) {
  IdleGpu up{{}, 500};
  IdleGpu down{{}, 500};
  for (int i = 0; i < 10; ++i) up.samples.push_back({i + 0.5, 80.0 + i / 2});
  for (int i = 0; i < 10; ++i) down.samples.push_back({i + 0.5, 84.0 - i / 2});
  const auto together = idle_means(std::vector{up, up}, {0, 10}, 3);
  EXPECT_DOUBLE_EQ(together->total.watts, 164);
  EXPECT_NEAR(1.96 * together->total.standard_uncertainty_w, 2 * kStudent4 * std::sqrt(2.5 / 5),
              1e-6);
  const auto opposed = idle_means(std::vector{up, down}, {0, 10}, 3);
  EXPECT_DOUBLE_EQ(opposed->total.standard_uncertainty_w, 0);
  EXPECT_NEAR(1.96 * opposed->gpus[1].standard_uncertainty_w, kStudent4 * std::sqrt(2.5 / 5), 1e-6);
}

TEST(IdleMeans, NeedTenReadingsAndNoGaps) {
  const auto each = [](int) { return 80; };
  EXPECT_FALSE(idle_means(std::vector{gpu(0, 8, each)}, {0, 10}, 3));   // 9 readings
  EXPECT_FALSE(idle_means(std::vector{gpu(0, 20, each)}, {0, 9}, 3));   // 9 s
  EXPECT_FALSE(idle_means(std::vector{gpu(0, 20, each)}, {0, 30}, 3));  // nothing after 20 s
  EXPECT_TRUE(idle_means(std::vector{gpu(0, 20, each)}, {0, 20}, 3));
  EXPECT_FALSE(idle_means({}, {0, 20}, 3));
}

TEST(LeastSteady, IsTheLowestOfBothSides) {
  IdleGpu gpu;
  for (int s = 0; s <= 100; ++s) {
    const double watts = s < 40 ? 300 : s <= 60 ? 650 : s < 63 ? 400 : 95;
    gpu.samples.push_back({static_cast<double>(s), watts});
  }
  EXPECT_EQ(least_steady_w(gpu, {40, 60}), 95);
  gpu.samples.resize(65);  // to 64 s: 95 W for 1 s
  EXPECT_EQ(least_steady_w(gpu, {40, 60}), 95);
  gpu.samples.resize(64);  // one reading of 95 W may be on the way to 300 W
  EXPECT_EQ(least_steady_w(gpu, {40, 60}), 300);
  gpu.samples.resize(1);
  EXPECT_EQ(least_steady_w(gpu, {40, 60}), std::nullopt);
}

}  // namespace idle_power_test
}  // namespace aggregate_power
