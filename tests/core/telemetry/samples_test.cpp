// Samples kept by device, against sorting by hand.
#include "core/telemetry/samples.h"

#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace samples_test {

using Kind = Reading::Kind;

std::vector<double> watts_of(std::span<const Sample> samples) {
  std::vector<double> watts;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  return watts;
}

TEST(Samples, AreOfEachDeviceInTheOrderOfTime) {
  Samples samples(kAlways);
  samples.take(std::vector<Reading>{{3, 30, 1}, {1, 10, 0}, {2, 20, 0}, {1, 11, 1}});
  samples.take(std::vector<Reading>{{1.5, 15, 0}});
  EXPECT_EQ(samples.size(), 5U);
  samples.sort();
  ASSERT_EQ(samples.devices().size(), 2U);
  EXPECT_EQ(watts_of(samples.devices()[0]), (std::vector<double>{10, 15, 20}));
  EXPECT_EQ(watts_of(samples.devices()[1]), (std::vector<double>{11, 30}));
}

TEST(Samples, OfOneStampKeepTheirOrder) {
  Samples samples(kAlways);
  samples.take(std::vector<Reading>{{2, 1, 0}, {1, 2, 0}, {1, 3, 0}, {2, 4, 0}, {1, 5, 0}});
  samples.sort();
  EXPECT_EQ(watts_of(samples.devices()[0]), (std::vector<double>{2, 3, 5, 1, 4}));
}

TEST(Samples, AreOfOneKindAndWithinAStretch) {
  const std::vector<Reading> rows = {{0.9, 1, 0},
                                     {1, 2, 0},
                                     {2, 3, 0},
                                     {2.1, 4, 0},
                                     {1.5, -5, 0, Kind::negative_power},
                                     {1.5, 0, 0, Kind::no_power},
                                     {1.5, 6, kNoDevice, Kind::no_device},
                                     {0, 0, kNoDevice, Kind::bad_timestamp}};
  Samples power({1, 2});
  Samples negative({1, 2}, Kind::negative_power);
  Samples none(kNever);
  for (Samples* const some : {&power, &negative, &none}) some->take(rows);
  EXPECT_EQ(watts_of(power.devices().at(0)), (std::vector<double>{2, 3}));
  EXPECT_EQ(watts_of(negative.devices().at(0)), (std::vector<double>{-5}));
  EXPECT_EQ(none.size(), 0U);
}

TEST(Samples, MayBeForgottenAndTakenAgain) {
  Samples samples({0, 10});
  for (int i = 0; i < 5000; ++i) samples.take(std::vector<Reading>{{i * 0.002, 1.0 * i, 0}});
  EXPECT_EQ(samples.size(), 5000U);
  samples.clear({1, 1.003});
  EXPECT_EQ(samples.size(), 0U);
  for (int i = 0; i < 5000; ++i) samples.take(std::vector<Reading>{{i * 0.002, 1.0 * i, 0}});
  EXPECT_EQ(watts_of(samples.devices()[0]), (std::vector<double>{500, 501}));
}

TEST(SamplesIn, AreThoseFromEdgeToEdge) {
  const std::vector<Sample> samples = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
  EXPECT_EQ(watts_of(samples_in(samples, {2, 3})), (std::vector<double>{2, 3}));
  EXPECT_EQ(watts_of(samples_in(samples, {2.1, 2.9})), std::vector<double>());
  EXPECT_EQ(watts_of(samples_in(samples, {5, 6})), std::vector<double>());
  EXPECT_EQ(watts_of(samples_in(samples, kAlways)), (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace samples_test
}  // namespace aggregate_power
