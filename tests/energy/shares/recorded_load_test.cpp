// The power of a GPU next to a window.
#include "energy/shares/idle.h"

#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace recorded_load_test {

// Of a reading each second from 0 to 59: before the window, in it, and after it.
PowerNear near(double before_w, double inside_w, double after_w, Window window = {20, 39.5}) {
  std::vector<Sample> samples;
  for (int at = 0; at < 60; ++at) {
    const double watts = at < 20 ? before_w : at < 40 ? inside_w : after_w;
    samples.push_back({static_cast<double>(at), watts});
  }
  return power_near(samples, window).value();
}

TEST(PowerNear, IsTheMeanInsideAndTheMediansBeside) {
  const PowerNear found = near(80, 600, 90);
  EXPECT_EQ(found.mean_w, 600);
  EXPECT_EQ(found.before_w, 80);
  EXPECT_EQ(found.after_w, 90);
  EXPECT_EQ(found.beside_w(), 80);
  EXPECT_EQ(near(80, 600, 90, {0, 39}).before_w, std::nullopt);
  EXPECT_EQ(near(80, 600, 90, {20, 58}).after_w, std::nullopt);
}

TEST(PowerNear, IsOfAWindowWithReadings) {
  EXPECT_FALSE(power_near(std::vector<Sample>{{1, 100}}, {2, 3}).has_value());
}

TEST(PowerNear, ShowsALoad) {
  EXPECT_TRUE(near(80, 600, 80).rises());
  EXPECT_TRUE(near(80, 600, 80).steps());
  EXPECT_TRUE(near(80, 100, 100).rises());
  EXPECT_FALSE(near(80, 100, 100).steps()) << "it does not fall";
  EXPECT_FALSE(near(0, 0, 0).steps());
  EXPECT_FALSE(near(100, 104, 100).rises()) << "less than 5 %";
  EXPECT_TRUE(near(100, 104, 100).stays());
  EXPECT_FALSE(near(600, 80, 600).rises());
  EXPECT_FALSE(near(600, 80, 600).stays());
  EXPECT_FALSE(near(80, 80, 80, {0, 39}).stays()) << "one side is unknown";
}

TEST(PowerNear, ShowsBursts) {
  std::vector<Sample> samples;
  for (int at = 0; at < 100; ++at) {
    const bool is_up = at >= 20 && at < 80 && at % 8 == 0;  // an eighth of the time
    samples.push_back({static_cast<double>(at), is_up ? 95.0 : 80.0});
  }
  EXPECT_TRUE(power_near(samples, {20, 80})->rises());  // the mean is only 81.9 W
}

}  // namespace recorded_load_test
}  // namespace aggregate_power
