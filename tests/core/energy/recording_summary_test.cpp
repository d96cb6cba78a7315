// What a recording holds, device by device.
#include "core/energy/recording_summary.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace survey_test {

using Kind = Reading::Kind;
using Names = std::vector<std::string>;
using Lines = std::vector<std::string>;

Surveyor survey_of(const std::vector<Reading>& readings) {
  Surveyor surveyor;
  // In two batches: a batch ends anywhere.
  const std::size_t half = readings.size() / 2;
  surveyor.take(std::span(readings).first(half));
  surveyor.take(std::span(readings).subspan(half));
  return surveyor;
}

std::vector<Reading> series(std::uint32_t device, const std::vector<Sample>& samples) {
  std::vector<Reading> readings;
  for (const Sample& sample : samples) readings.push_back({sample.unix_s, sample.watts, device});
  return readings;
}

// Once a second from 1000, one per value.
std::vector<Reading> once_a_second(const std::vector<double>& watts, std::uint32_t device = 0) {
  std::vector<Reading> readings;
  for (const double w : watts) {
    readings.push_back({1000 + static_cast<double>(readings.size()), w, device});
  }
  return readings;
}

TEST(Surveyor, TellsOfEachDevice) {
  // Stamps 10, 11, 11, 13, 18: distinct ones are 1, 2 and 5 s apart.
  Surveyor surveyor = survey_of(series(0, {{10, 100}, {11, 300}, {11, 200}, {13, 50}, {18, 350}}));
  const auto devices = surveyor.devices(Names{"GPU-a"});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].id, "GPU-a");
  EXPECT_EQ(devices[0].samples, 5u);
  EXPECT_EQ(devices[0].first_unix_s, 10);
  EXPECT_EQ(devices[0].last_unix_s, 18);
  EXPECT_EQ(devices[0].median_interval_s, 2);
  EXPECT_EQ(devices[0].max_gap_s, 5);
  EXPECT_EQ(devices[0].mean_w, 200);  // 1000 / 5
  EXPECT_EQ(devices[0].min_w, 50);
  EXPECT_EQ(devices[0].max_w, 350);
}

TEST(Surveyor, TakesTheMiddleOfAnEvenNumberOfIntervals) {
  // 1, 2, 4 and 8 s apart.
  const auto devices =
      survey_of(series(0, {{0, 1}, {8, 1}, {9, 1}, {11, 1}, {15, 1}})).devices(Names{"0"});
  EXPECT_EQ(devices[0].median_interval_s, 3);
  EXPECT_EQ(devices[0].max_gap_s, 8);
}

TEST(Surveyor, HasNoIntervalOfOneStamp) {
  const auto devices = survey_of(series(0, {{10, 5}, {10, 6}})).devices(Names{"0"});
  EXPECT_EQ(devices[0].samples, 2u);
  EXPECT_EQ(devices[0].median_interval_s, std::nullopt);
  EXPECT_EQ(devices[0].max_gap_s, std::nullopt);
}

TEST(Surveyor, SortsStampsAndDevices) {
  std::vector<Reading> readings = series(0, {{30, 1}, {10, 2}, {20, 3}});
  for (const std::uint32_t device : {1, 2, 4}) {
    const auto more = series(device, {{5, 7}});
    readings.insert(readings.end(), more.begin(), more.end());
  }
  const auto devices = survey_of(readings).devices(Names{"10", "2", "GPU-a", "never seen", "1"});
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[0].id, "1");
  EXPECT_EQ(devices[1].id, "2");
  EXPECT_EQ(devices[2].id, "10");
  EXPECT_EQ(devices[3].id, "GPU-a");
  EXPECT_EQ(devices[2].first_unix_s, 10);
  EXPECT_EQ(devices[2].last_unix_s, 30);
  EXPECT_EQ(devices[2].max_gap_s, 10);
}

TEST(Surveyor, CountsOnlyReadingsOfPower) {
  const std::vector<Reading> readings = {
      {1000, 5, 0, Kind::power},     {1001, -5, 0, Kind::negative_power},
      {1002, 0, 0, Kind::no_power},  {1003, 9, 0, Kind::no_device},
      {1004, 9, 0, Kind::no_device}, {0, 0, 0, Kind::bad_timestamp}};
  Surveyor surveyor = survey_of(readings);
  const auto devices = surveyor.devices(Names{"0"});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].samples, 1u);
  EXPECT_EQ(devices[0].max_w, 5);
  EXPECT_EQ(surveyor.unnamed_readings(), 2u);
}

TEST(Surveyor, HasNothingToSayOfSoundSeries) {
  EXPECT_EQ(survey_of(once_a_second({100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110}))
                .warnings(Names{"0"}),
            Lines{});
  EXPECT_EQ(survey_of({}).warnings(Names{}), Lines{});
  EXPECT_TRUE(survey_of({}).devices(Names{}).empty());
}

TEST(Surveyor, WarnsOfSensorsThatLookStuck) {
  const std::vector<double> nine(9, 46.19);
  EXPECT_EQ(survey_of(once_a_second(nine)).warnings(Names{"3"}), Lines{}) << "equal by chance";
  const std::vector<double> ten(10, 46.19);
  EXPECT_EQ(survey_of(once_a_second(ten)).warnings(Names{"3"}),
            Lines{"constant_series: device 3 reads 46.19 W in each of its 10 samples; the sensor "
                  "may be stuck"});
  EXPECT_EQ(survey_of(once_a_second({0, 0})).warnings(Names{"3"}),
            Lines{"only_zeros: device 3 reads 0 W in each of its 2 samples"});
  // 6 of 10 repeat the one before.
  EXPECT_EQ(survey_of(once_a_second({5, 5, 5, 6, 6, 6, 7, 7, 7, 8})).warnings(Names{"3"}),
            Lines{"mostly_repeated: 6 of the 10 samples of device 3 repeat the one before; the "
                  "sensor is slower than the recorder"});
  // 5 of 10: half is not most.
  EXPECT_EQ(survey_of(once_a_second({5, 5, 6, 6, 7, 7, 8, 8, 9, 9})).warnings(Names{"3"}), Lines{});
}

TEST(Surveyor, WarnsOfWattsNoGpuDraws) {
  EXPECT_EQ(survey_of(once_a_second({2939, 3000})).warnings(Names{"0"}),
            Lines{"implausible_watts: device 0 has a mean of 2969.5 W and at most 3000 W; the "
                  "header's unit may be wrong"});
  EXPECT_EQ(survey_of(once_a_second({2939, 3000}))
                .warnings(Names{"0"}, PowerUnit::Size::watt, plausible_watts("gpu", true)),
            Lines{});
  EXPECT_EQ(survey_of(once_a_second({0.004, 0.006})).warnings(Names{"0"}),
            Lines{"implausible_watts: device 0 has a mean of 0.005 W and at most 0.006 W; the "
                  "header's unit may be wrong"});
  EXPECT_EQ(survey_of(once_a_second({2000, 1.5})).warnings(Names{"0"}), Lines{});
}

TEST(Surveyor, WarnsOfWattsNoGpuCanDraw) {
  EXPECT_EQ(survey_of(once_a_second({4939, 5000})).warnings(Names{"0"}),
            Lines{"implausible_power: device 0 has a mean of 4969.5 W; milliwatts? pass "
                  "--power-unit mW if the GPU draws as little as 4.97 W"});
  EXPECT_EQ(survey_of(once_a_second({300, 3500})).warnings(Names{"0"}),
            Lines{"implausible_power: device 0 has a reading of 3500 W, which no GPU draws: the "
                  "sensor or its recorder was at fault, or watts are not its unit (--power-unit)"});
  EXPECT_EQ(survey_of(once_a_second({4939, 5000}))
                .warnings(Names{"0"}, PowerUnit::Size::watt, plausible_watts("node", false)),
            Lines{});
  const Surveyor surveyor = survey_of(once_a_second({350000, 300000}));
  EXPECT_EQ(surveyor.warnings(Names{"0"}),
            Lines{"implausible_power: device 0 has a mean of 325000 W; milliwatts? pass "
                  "--power-unit mW"});
  EXPECT_EQ(
      surveyor.warnings(Names{"0"}, PowerUnit::Size::kilowatt),
      Lines{"implausible_power: device 0 has a mean of 325000 W; watts? pass --power-unit W"});
}

TEST(Surveyor, WarnsOfStampsThatGoBack) {
  EXPECT_EQ(survey_of(series(0, {{10, 1}, {9, 2}, {11, 3}, {10.5, 4}})).warnings(Names{"0"}),
            Lines{"out_of_order: 2 samples of device 0 are earlier than the one before"});
}

TEST(Surveyor, WarnsDeviceByDevice) {
  std::vector<Reading> readings = once_a_second({0, 0}, 1);
  const auto more = once_a_second({4000, 4001}, 0);
  readings.insert(readings.end(), more.begin(), more.end());
  EXPECT_EQ(survey_of(readings).warnings(Names{"7", "2"}),
            (Lines{"only_zeros: device 2 reads 0 W in each of its 2 samples",
                   "implausible_power: device 7 has a mean of 4000.5 W; milliwatts? pass "
                   "--power-unit mW if the GPU draws as little as 4 W"}));
}

}  // namespace survey_test
}  // namespace aggregate_power
