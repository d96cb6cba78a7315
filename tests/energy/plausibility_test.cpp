// Which watts can be a GPU's.
#include "energy/plausibility.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace plausibility_test {

using Size = PowerUnit::Size;

TEST(Plausibility, EndsAboveTenKilowatts) {
  EXPECT_FALSE(is_impossible(10000));
  EXPECT_TRUE(is_impossible(10000.001));
  EXPECT_TRUE(is_impossible(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_impossible(0));
}

TEST(Plausibility, IsInDoubtAboveThreeKilowattsAndBelowOneWatt) {
  EXPECT_FALSE(is_doubtful(1, 3000));
  EXPECT_TRUE(is_doubtful(1, 3000.5));
  EXPECT_TRUE(is_doubtful(0.99, 5));
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
