#include "energy/uncertainty/readings.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power {
namespace reading_faults_test {

// A reading a second, which moves by 1 %.
std::vector<Sample> moving(int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) samples.push_back({i * 1.0, 400 + 4.0 * (i % 3)});
  return samples;
}

TEST(ReadingFaults, AreNotSeenInSoundReadings) {
  const std::vector<Sample> samples = moving(60);
  const SoundReadings sound = sound_readings(samples, 700);
  EXPECT_EQ(sound.samples.size(), 60);
  EXPECT_EQ(sound.implausible, 0);
  EXPECT_TRUE(sound.stuck.empty());
}

TEST(ReadingFaults, IncludeLoneZeros) {
  std::vector<Sample> samples = moving(60);
  samples[10].watts = samples[20].watts = samples[21].watts = 0;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 3);
}

TEST(ReadingFaults, DoNotIncludeAGpuThatIsOff) {
  std::vector<Sample> samples = moving(60);
  for (std::size_t i = 20; i < 30; ++i) samples[i].watts = 0;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 0);
}

TEST(ReadingFaults, IncludeSpikes) {
  std::vector<Sample> samples = moving(60);
  samples[30].watts = 1450;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 1);    // twice the others, above any board
  EXPECT_EQ(sound_readings(samples, 700).implausible, 1);   // above 1.5 * 700
  EXPECT_EQ(sound_readings(samples, 1000).implausible, 0);  // a board of 1000 W may
}

// Means over a second show a burst as ramp, top and ramp, or, below a second, as one or two. Two
// equal ones without a ramp are one that was shown twice.
TEST(ReadingFaults, DoNotIncludeABurstThatTheBoardMayDraw) {
  for (const auto& burst : std::vector<std::vector<double>>{
           {350, 603, 350}, {350, 603, 603, 350}, {451, 603, 603, 121}, {603, 603}, {603}}) {
    std::vector<Sample> samples;
    for (int i = 0; i < 60; ++i) samples.push_back({i * 1.0, 100 + 0.3 * (i % 3)});
    for (std::size_t k = 0; k < burst.size(); ++k) samples[28 + k].watts = burst[k];
    const SoundReadings sound = sound_readings(samples, {}, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(sound.implausible, 0) << burst.size();
    EXPECT_EQ(sound.doubtful.size(), burst.size() <= 2 ? 1 : 0) << burst.size();
  }
}

TEST(ReadingFaults, IncludeALoneReadingAboveTheBoardsLimit) {
  std::vector<Sample> samples = moving(60);
  samples[30].watts = 900;
  EXPECT_EQ(sound_readings(samples, {}, "NVIDIA H100 80GB HBM3").implausible, 1);  // of 700 W
  const SoundReadings kept = sound_readings(samples, {}, "NVIDIA B200");           // of 1000 W
  EXPECT_EQ(kept.implausible, 0);
  ASSERT_EQ(kept.doubtful.size(), 1);
  EXPECT_DOUBLE_EQ(kept.doubtful[0].above_j, 900 - (408 + 404) / 2.0);
}

// 500 W above 100 W for two readings: a trapezoid of 3 s below and 1 s above.
TEST(ReadingFaults, AreDoubtfulForAsLongAsTheyAreShown) {
  std::vector<Sample> samples;
  for (int i = 0; i < 60; ++i) samples.push_back({i * 1.0, i == 30 || i == 31 ? 600.0 : 100.0});
  const SoundReadings sound = sound_readings(samples, {}, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(sound.doubtful.size(), 1);
  EXPECT_DOUBLE_EQ(sound.doubtful[0].above_j, 500 * 2.0);
}

TEST(ReadingFaults, IncludeSpikesThatHideOneAnother) {
  std::vector<Sample> samples = moving(24);
  // The first of the second three is no peak before that of the first three is gone.
  samples[10].watts = 1600;
  samples[12].watts = 2400;
  samples[13].watts = 2900;
  samples[14].watts = 2500;
  const SoundReadings sound = sound_readings(samples, 700);
  EXPECT_EQ(sound.implausible, 4);
  ASSERT_EQ(sound.left_out.size(), 4);
  EXPECT_EQ(sound.left_out[0].unix_s, 10);
  EXPECT_EQ(sound.left_out[3].unix_s, 14);
}

TEST(ReadingFaults, IncludeWhatNoBoardDraws) {
  std::vector<Sample> samples = moving(60);
  for (std::size_t i = 30; i < 35; ++i) samples[i].watts = 9000;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 5);
  EXPECT_EQ(sound_readings(samples, 700).implausible, 5);
}

TEST(ReadingFaults, DoNotIncludeBursts) {
  std::vector<Sample> samples = moving(60);
  for (std::size_t i = 0; i < 60; ++i) samples[i].watts = i % 5 == 0 ? 600 : 80;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 0);
  EXPECT_EQ(sound_readings(samples, 700).implausible, 0);
}

// Half of the readings of a short load are high ones, beside a long idle time.
TEST(ReadingFaults, DoNotIncludeAShortLoad) {
  std::vector<Sample> samples;
  for (int i = 0; i < 100; ++i) samples.push_back({i * 1.0, 100 + 0.3 * (i * 7 % 5)});
  const double kLoad[] = {650, 257, 641, 230, 232, 642, 231, 608, 623, 239};
  for (std::size_t i = 0; i < std::size(kLoad); ++i) samples[20 + i].watts = kLoad[i];
  EXPECT_EQ(sound_readings(samples, {}).implausible, 0);
  EXPECT_EQ(sound_readings(samples, 350).implausible, 0);
}

// Bursts of a second that come again and again are the load, however rare they are.
TEST(ReadingFaults, DoNotIncludeRareBursts) {
  std::vector<Sample> samples = moving(600);
  for (std::size_t i = 0; i < 600; ++i) samples[i].watts = i % 12 == 0 ? 380 : 150;
  EXPECT_EQ(sound_readings(samples, {}).implausible, 0);
}

// A load above the limit that a column states for two readings of three: the limit is wrong.
TEST(ReadingFaults, DoNotIncludeALoadAboveALimit) {
  std::vector<Sample> samples = moving(3000);
  for (std::size_t i = 0; i < 3000; ++i) samples[i].watts = i % 3 == 2 ? 120 : 400;
  EXPECT_EQ(sound_readings(samples, 250).implausible, 0);
}

// An H100 that loads a model: 121 W, which one decimal hardly shows to move.
TEST(ReadingFaults, DoNotIncludeAPowerThatIsAsGoodAsConstant) {
  std::vector<Sample> samples;
  for (int i = 0; i < 200; ++i) {
    const bool is_long = i >= 100 && i < 145;
    samples.push_back({i * 0.1, is_long || i % 10 < 7 ? 121.0 : 121.1});
  }
  EXPECT_TRUE(sound_readings(samples, {}).stuck.empty());
}

TEST(ReadingFaults, IncludeAStuckStretch) {
  std::vector<Sample> samples = moving(60);
  for (std::size_t i = 20; i < 30; ++i) samples[i].watts = 405;
  const SoundReadings sound = sound_readings(samples, {});
  ASSERT_EQ(sound.stuck.size(), 1);
  EXPECT_EQ(sound.stuck[0].start_unix_s, 20);
  EXPECT_EQ(sound.stuck[0].end_unix_s, 29);
  EXPECT_EQ(sound.samples.size(), 60 - 9);  // the first one was new
}

// Two readings under load move by 2.5 W, those at idle by 0.1 W: the last digit is not 2.5 W.
TEST(ReadingFaults, IncludeAStuckStretchAmongFewReadingsUnderLoad) {
  const double kWatts[] = {433, 435.5, 117, 84.1, 84,  84.2, 434,  434,
                           434, 434,   434, 434,  434, 434,  80.1, 80};
  std::vector<Sample> samples;
  for (const double watts : kWatts) {
    samples.push_back({static_cast<double>(samples.size()), watts});
  }
  const SoundReadings sound = sound_readings(samples, 478);
  ASSERT_EQ(sound.stuck.size(), 1);
  EXPECT_EQ(sound.stuck[0].start_unix_s, 6);
  EXPECT_EQ(sound.stuck[0].end_unix_s, 13);
}

TEST(ReadingFaults, DoNotIncludeAConstantIdle) {
  std::vector<Sample> samples = moving(60);
  for (std::size_t i = 20; i < 30; ++i) samples[i].watts = 90;
  EXPECT_TRUE(sound_readings(samples, {}).stuck.empty());
}

TEST(ReadingFaults, DoNotIncludeAConstantLoad) {
  std::vector<Sample> samples = moving(60);
  for (Sample& sample : samples) sample.watts = 400;
  EXPECT_TRUE(sound_readings(samples, {}).stuck.empty());
}

TEST(ReadingFaults, OfNothingAreNone) { EXPECT_TRUE(sound_readings({}, {}).samples.empty()); }

TEST(ReadingFaults, AreSixReadingsOfOneValueWhereverTheyAre) {
  for (const std::size_t first : {20, 21, 22, 23, 24, 25, 53}) {
    std::vector<Sample> samples = moving(60);
    for (std::size_t i = first; i < first + 5; ++i) samples[i].watts = 402;
    EXPECT_TRUE(sound_readings(samples, 700).stuck.empty()) << first;
    samples[first + 5].watts = 402;
    EXPECT_EQ(sound_readings(samples, 700).stuck.size(), 1) << first;
  }
}

}  // namespace reading_faults_test
}  // namespace aggregate_power
