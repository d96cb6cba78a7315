#include "energy/zones/load_place.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

namespace aggregate_power::energy {
namespace load_place_test {

constexpr double kStart = 1788852000;

struct Stretch {
  double from_s;
  double to_s;
  double watts;
};

// Idle at 100 W for ten minutes, every second, but for some stretches.
std::vector<Sample> recorded(const std::vector<Stretch>& loads) {
  std::vector<Sample> samples;
  for (int i = 0; i < 600; ++i) {
    double watts = 100 + 0.5 * (i % 3);
    for (const Stretch& load : loads) {
      if (i >= load.from_s && i < load.to_s) watts = load.watts;
    }
    samples.push_back({kStart + i, watts});
  }
  return samples;
}

std::optional<LoadElsewhere> elsewhere(const std::vector<Stretch>& loads, double from_s,
                                       double to_s) {
  const std::vector<Sample> samples = recorded(loads);
  const std::span<const Sample> gpus[] = {samples};
  return load_elsewhere(gpus, {kStart + from_s, kStart + to_s});
}

TEST(LoadElsewhere, IsNoneWhereTheWindowIsAtItsLoad) {
  EXPECT_FALSE(elsewhere({{200, 260, 600}}, 200, 260));
  EXPECT_FALSE(elsewhere({}, 200, 260));
  EXPECT_FALSE(elsewhere({{0, 600, 600}}, 200, 260));
}

TEST(LoadElsewhere, OverlapsTheWindowOfAClockThatIsOff) {
  for (const double off_s : {-50.0, -30.0, -7.0, 7.0, 30.0, 50.0}) {
    const auto load = elsewhere({{200, 260, 600}}, 200 + off_s, 260 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_EQ(load->kind, LoadElsewhere::Kind::overlaps);
    EXPECT_NEAR(load->offset_s, -off_s, 1);
  }
}

TEST(LoadElsewhere, IsFarFromAWindowInIdleTime) {
  for (const double off_s : {-120.0, -62.0, 62.0, 120.0}) {
    const auto load = elsewhere({{300, 360, 600}}, 300 + off_s, 360 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_EQ(load->kind, LoadElsewhere::Kind::window_idle);
    EXPECT_NEAR(load->offset_s, -off_s, 1);
    EXPECT_FALSE(load->is_by_quarter_hours());
  }
}

TEST(LoadElsewhere, IsPossibleWhereItIsLessThanFiveSecondsAway) {
  for (const double off_s : {-4.0, 4.0}) {
    const auto load = elsewhere({{200, 260, 600}}, 200 + off_s, 260 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_EQ(load->kind, LoadElsewhere::Kind::nearby);
    EXPECT_FALSE(load->is_certain());
    EXPECT_NEAR(load->offset_s, -off_s, 1);
  }
  EXPECT_FALSE(elsewhere({{200, 260, 600}}, 199, 259));  // no better known than that
}

// Whose lengths say nothing: the window may be of idle time.
TEST(LoadElsewhere, IsOnlyPossibleOfAnotherLength) {
  for (const double end_s : {130.0, 220.0}) {
    const auto load = elsewhere({{300, 360, 600}}, 100, end_s);
    ASSERT_TRUE(load) << end_s;
    EXPECT_EQ(load->kind, LoadElsewhere::Kind::only_idle);
  }
  EXPECT_FALSE(elsewhere({{300, 360, 600}}, 290, 370));  // it is in the window
}

// With a warm-up of 20 s before it, the load rises at 180 s and falls at 260 s.
TEST(LoadElsewhere, IsCutByTheWindowWhereAWarmUpJoinedIt) {
  const std::vector<Stretch> loads = {{180, 260, 600}};
  EXPECT_FALSE(elsewhere(loads, 200, 260));
  for (const double off_s : {-50.0, -30.0, 20.0, 50.0}) {
    const auto load = elsewhere(loads, 200 + off_s, 260 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_EQ(load->kind, LoadElsewhere::Kind::cut) << off_s;
    EXPECT_NEAR(off_s < 0 ? load->others_s.at(0) : load->offset_s, -off_s, 1);
  }
}

// Pauses of 4 s in idle time of minutes.
TEST(LoadElsewhere, IsCutWhereItGoesUpAndDown) {
  std::vector<Stretch> bursts;
  for (double from_s = 200; from_s < 280; from_s += 10) bursts.push_back({from_s, from_s + 6, 600});
  EXPECT_FALSE(elsewhere(bursts, 200, 276));
  for (const double off_s : {-40.0, 43.0}) {
    const auto load = elsewhere(bursts, 200 + off_s, 276 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_TRUE(load->is_certain());
  }
}

// An idle start of 8 s of a window that another load fits exactly.
TEST(LoadElsewhere, IsPossibleWhereAnotherLoadFitsBetter) {
  const auto load = elsewhere({{104, 157, 600}, {400, 460, 600}}, 100, 160);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->kind, LoadElsewhere::Kind::alike);
  EXPECT_NEAR(load->offset_s, 300, 1);
}

TEST(LoadElsewhere, IsNoneInASweepOfEqualLoads) {
  const std::vector<Stretch> sweep = {
      {50, 110, 600}, {130, 190, 600}, {210, 270, 600}, {290, 350, 600}, {370, 430, 600}};
  for (const Stretch& load : sweep) EXPECT_FALSE(elsewhere(sweep, load.from_s, load.to_s));
}

// The lightest load of a sweep is a tenth of the heaviest one's step above idle.
TEST(LoadElsewhere, IsNoneWhereTheWindowHasALightLoadOfItsOwn) {
  EXPECT_FALSE(elsewhere({{100, 160, 700}, {200, 260, 140}}, 200, 260));
}

// One level of a sweep, or a light load next to another that is as long.
// Less than a tenth of the other load's step above idle, and 3 s after it.
TEST(LoadElsewhere, IsNotCertainNextToALightLoadAfterAShortPause) {
  const auto light = elsewhere({{200, 260, 600}, {263, 323, 145}}, 263, 323);
  EXPECT_FALSE(light && light->is_certain());
  const auto idle = elsewhere({{200, 260, 600}}, 263, 323);
  ASSERT_TRUE(idle);
  EXPECT_TRUE(idle->is_certain());
}

TEST(LoadElsewhere, IsNoneWherePowerKeepsToOneLevelInTheWindow) {
  EXPECT_FALSE(elsewhere({{200, 260, 300}, {260, 320, 600}}, 200, 260));
  EXPECT_FALSE(elsewhere({{140, 200, 600}, {200, 260, 300}}, 200, 260));
  EXPECT_FALSE(elsewhere({{140, 200, 600}, {200, 260, 140}}, 200, 260));
  EXPECT_FALSE(elsewhere({{140, 200, 600}, {200, 260, 300}, {260, 320, 450}}, 200, 260));
}

// A clock that is off by just the length of the window would be a coincidence.
TEST(LoadElsewhere, IsOnlyPossibleNextToAWindowThatWorks) {
  for (const double first_s : {139.0, 260.0}) {
    const auto load =
        elsewhere({{first_s, first_s + 60, 600}, {206, 218, 300}, {225, 240, 350}, {244, 253, 280}},
                  200, 260);
    EXPECT_TRUE(!load || !load->is_certain()) << first_s;
  }
}

TEST(LoadElsewhere, IsFoundBesideAWarmUpAndAnEvaluation) {
  const std::vector<Stretch> loads = {{150, 170, 600}, {200, 260, 600}, {260, 300, 280}};
  EXPECT_FALSE(elsewhere(loads, 200, 260));
  for (const double off_s : {-30.0, 30.0}) {
    const auto load = elsewhere(loads, 200 + off_s, 260 + off_s);
    ASSERT_TRUE(load) << off_s;
    EXPECT_NEAR(load->offset_s, -off_s, 1);
  }
}

// A ramp of 20 s at the start and a server that works on for 10 s.
TEST(LoadElsewhere, IsNotCertainForALoadThatStartsSlowly) {
  const auto load = elsewhere({{205, 212, 250}, {212, 220, 400}, {220, 270, 600}}, 200, 260);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->kind, LoadElsewhere::Kind::cut_a_little);
}

TEST(LoadElsewhere, NamesAllThatFit) {
  const auto load = elsewhere({{100, 160, 600}, {400, 460, 600}}, 300, 360);
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->offset_s, 100, 1);
  ASSERT_EQ(load->others_s.size(), 1U);
  EXPECT_NEAR(load->others_s[0], -200, 1);
}

TEST(LoadElsewhere, IsAZoneAwayByWholeQuarterHours) {
  EXPECT_TRUE((LoadElsewhere{.offset_s = 3600.4}.is_by_quarter_hours()));
  EXPECT_TRUE((LoadElsewhere{.offset_s = -19799}.is_by_quarter_hours()));
  EXPECT_FALSE((LoadElsewhere{.offset_s = 300}.is_by_quarter_hours()));
  EXPECT_FALSE((LoadElsewhere{.offset_s = 1}.is_by_quarter_hours()));
}

}  // namespace load_place_test
}  // namespace aggregate_power::energy
