// Temperatures by hand.
#include "energy/shares/cooling.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace cooling_test {

// 30 degrees before a load from 0 to 100 s, 50 and 60 in its halves, and then 30 + 40 exp(-t / 60).
std::vector<Temperature> course(double until_s, bool is_whole) {
  std::vector<Temperature> readings;
  for (double at_s = -20; at_s <= until_s; at_s += 1) {
    double celsius = at_s < 0 ? 30 : at_s < 50 ? 50 : 60;
    if (at_s > 100) celsius = 30 + 40 * std::exp(-(at_s - 100) / 60);
    readings.push_back({at_s, is_whole ? std::round(celsius) : celsius});
  }
  return readings;
}

// 40 degrees too many are 1 degree after 60 s ln 40 = 221.3 s.
TEST(ThermalCourse, TellsTheTimeToCoolDown) {
  const auto exact = thermal_course(course(300, false), {0, 100});
  ASSERT_TRUE(exact.cooling_s) << exact.unknown;
  EXPECT_NEAR(exact.time_constant_s, 60, 0.7);  // steps of 2 %
  EXPECT_NEAR(*exact.cooling_s, 60 * std::log(40), 3);
  EXPECT_DOUBLE_EQ(*exact.before_c, 30);
  EXPECT_NEAR(*exact.first_half_c, 50, 0.3);
  EXPECT_NEAR(*exact.second_half_c, 60, 0.3);
  EXPECT_NEAR(*thermal_course(course(300, true), {0, 100}).cooling_s, 221, 6);
  EXPECT_NEAR(*thermal_course(course(150, true), {0, 100}).cooling_s, 221, 15);
}

TEST(ThermalCourse, FitsTheRestWhereNothingWasBefore) {
  std::vector<Temperature> readings = course(400, true);
  std::erase_if(readings, [](const Temperature& one) { return one.unix_s < 0; });
  EXPECT_NEAR(*thermal_course(readings, {0, 100}).cooling_s, 221, 25);
}

TEST(ThermalCourse, SaysWhyItIsUnknown) {
  for (const double until_s : {102.0, 110.0, 120.0}) {
    const auto short_tail = thermal_course(course(until_s, false), {0, 100});
    EXPECT_FALSE(short_tail.cooling_s) << until_s;
    EXPECT_FALSE(short_tail.unknown.empty());
  }
  EXPECT_FALSE(thermal_course({}, {0, 100}).cooling_s);
}

}  // namespace cooling_test
}  // namespace aggregate_power
