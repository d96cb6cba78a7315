// Which watts can be a GPU's.
#include "core/energy/plausibility.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace plausibility_test {

using Size = PowerUnit::Size;

TEST(Plausibility, EndsAboveTenKilowattsForWhateverItIs) {
  EXPECT_FALSE(is_impossible(10000));
  EXPECT_TRUE(is_impossible(10000.001));
  EXPECT_TRUE(is_impossible(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_impossible(0));
}

TEST(Plausibility, IsInDoubtAboveTwoKilowattsAndBelowOneWatt) {
  EXPECT_FALSE(is_doubtful(1, 2000));
  EXPECT_TRUE(is_doubtful(1, 2000.5));
  EXPECT_TRUE(is_doubtful(0.99, 5));
  EXPECT_FALSE(is_doubtful(1, 2900, 3000));
}

TEST(Plausibility, DependsOnWhatTheSensorIsOf) {
  const struct {
    const char* scope;
    bool has_limit;
    double most_w;
    double usual_w;
  } cases[] = {{"gpu", false, 3000, 2000},     {"gpu", true, 3000, 3000},
               {"unknown", false, 3000, 2000}, {"package", false, 3000, 2000},
               {"module", true, 4000, 3000},   {"node", false, 10000, 10000},
               {"wall", false, 10000, 10000}};
  for (const auto& c : cases) {
    const PlausibleWatts found = plausible_watts(c.scope, c.has_limit);
    EXPECT_EQ(found.most_w, c.most_w) << c.scope;
    EXPECT_EQ(found.usual_w, c.usual_w) << c.scope;
  }
}

TEST(Plausibility, RefusesWhatNoGpuDraws) {
  const auto text = [](const DrawnPower& drawn) {
    return impossible_power_text(drawn, Size::watt, PlausibleWatts());
  };
  EXPECT_EQ(text({.mean_w = 700, .samples = 60}), "");
  EXPECT_EQ(text({.mean_w = 5000, .samples = 60}),
            "a mean of 5000 W; milliwatts? pass --power-unit mW if the GPU draws as little as 5 W");
  EXPECT_EQ(text({.mean_w = 700, .samples = 60, .absurd_samples = 1, .highest = {0, 9000}}),
            "9000 W at 0.000 (1970-01-01T00:00:00.000Z), and 1 of 60 readings are above 3000 W, "
            "which no GPU draws: the sensor or its recorder was at fault");
  const StatedLimits::Device above{10, 3500, 2, {1, 800}, 350};
  EXPECT_EQ(text({.mean_w = 300, .stated = above}),
            "800 W at 1.000 (1970-01-01T00:00:01.000Z), where its own row states a power limit of "
            "350 W; 2 of 10 readings are above twice their limit: the sensor is at fault, or power "
            "and limit are in different units");
  const StatedLimits::Device stated{10, 3500, 0, {}, 0};
  EXPECT_EQ(text({.mean_w = 455, .stated = stated}), "");  // 1.3 times the limit
  EXPECT_NE(text({.mean_w = 456, .stated = stated}), "");
}

TEST(Plausibility, RefusesMoreThanABoardDraws) {
  const auto text = [](const DrawnPower& drawn) {
    return impossible_power_text(drawn, Size::watt, PlausibleWatts());
  };
  EXPECT_EQ(text({.mean_w = 105, .board = "T4", .board_limit_w = 70}), "");  // 1.5 times
  EXPECT_EQ(text({.mean_w = 596, .board = "T4", .board_limit_w = 70}),
            "a mean of 596 W, above the 70 W of its board (T4) by more than 50 %: the sensor is at "
            "fault, or the power or the name is another device's");
  const StatedLimits::Device stated{10, 6000, 0, {}, 0};  // its rows know better
  EXPECT_EQ(text({.mean_w = 596, .stated = stated, .board = "T4", .board_limit_w = 70}), "");
}

TEST(Plausibility, RefusesHardlyAnyPowerOfACardThatWorked) {
  const auto text = [](const DrawnPower& drawn) {
    return impossible_power_text(drawn, Size::watt, PlausibleWatts());
  };
  EXPECT_EQ(text({.mean_w = 0.4}), "");
  EXPECT_EQ(text({.mean_w = 0.4, .utilization_pct = 49}), "");
  EXPECT_EQ(text({.mean_w = 5, .utilization_pct = 100}), "");
  EXPECT_EQ(text({.mean_w = 0.4, .utilization_pct = 97}),
            "a mean of 0.4 W, at a mean utilization of 97 %; kilowatts? pass --power-unit kW");
  EXPECT_EQ(
      text({.mean_w = 0, .is_large = true}),
      "a mean of 0 W, less than such a board draws when it is idle; the sensor is dead, or is "
      "of another part");
}

TEST(Plausibility, TellsASpikeFromAUnit) {
  EXPECT_EQ(impossible_window_text(300, 700, Size::watt, 3000), "");
  EXPECT_EQ(impossible_window_text(5000, 6000, Size::watt, 3000),
            "a mean of 5000 W; milliwatts? pass --power-unit mW if the GPU draws as little as 5 W");
  const char* const spike =
      "a reading of 99999 W, which no GPU draws: the sensor or its recorder was at fault, or watts "
      "are not its unit (--power-unit)";
  EXPECT_EQ(impossible_window_text(5000, 99999, Size::watt, 3000), spike);
  EXPECT_EQ(impossible_window_text(400, 99999, Size::watt, 3000), spike);
}

TEST(Plausibility, NamesTheUnitThatWasMeant) {
  const struct {
    double mean_w;
    Size read_as;
    std::optional<Size> likely;
  } cases[] = {
      {350000, Size::watt, Size::milliwatt},      // 350 W
      {32349.6, Size::watt, Size::milliwatt},     // 32.3496 W
      {350000, Size::kilowatt, Size::watt},       // 350 W
      {3.5e8, Size::kilowatt, Size::milliwatt},   // 350 W
      {12000, Size::milliwatt, Size::microwatt},  // 12,000,000: 12 kW in milliwatts, or 12 W
      {0.4, Size::watt, Size::kilowatt},          // 400 W
      {3.5e8, Size::watt, Size::microwatt},       // 350 W
      {3.5e13, Size::watt, std::nullopt},
      {std::numeric_limits<double>::infinity(), Size::watt, std::nullopt},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(likely_unit(c.mean_w, c.read_as), c.likely) << c.mean_w;
  }
}

TEST(Plausibility, SaysWhatToPass) {
  EXPECT_EQ(impossible_mean_text(32349.6, Size::watt),
            "a mean of 32349.6 W; milliwatts? pass --power-unit mW");
  EXPECT_EQ(impossible_mean_text(3.5e8, Size::watt),
            "a mean of 3.5e+08 W; microwatts? pass --power-unit uW");
  EXPECT_EQ(impossible_mean_text(3.5e13, Size::watt),
            "a mean of 3.5e+13 W; --power-unit has no unit that fits");
}

}  // namespace plausibility_test
}  // namespace aggregate_power
