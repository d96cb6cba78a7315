// Recordings made here of one sensor or several, fresh or stale, moving or stuck. A load of noise
// is made by a congruential generator, so that two seeds are two sensors.
#include "energy/sensors/series_check.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/energy/stale_readings.h"

namespace aggregate_power {
namespace series_check_test {

using energy::refresh_s;
using Series = std::vector<Sample>;

// 500 W +- 50 W, to 0.01 W.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2654435761 + 1) {}
  double watts() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return 450 + static_cast<double>((state_ >> 33) % 10000) / 100;
  }

 private:
  std::uint64_t state_;
};

Series noise(std::uint64_t seed, int count, double step_s = 1, double start_s = 1e9) {
  Noise sensor(seed);
  Series samples;
  for (int i = 0; i < count; ++i) samples.push_back({start_s + i * step_s, sensor.watts()});
  return samples;
}

Series constant(double watts, int count) {
  Series samples;
  for (int i = 0; i < count; ++i) samples.push_back({1e9 + i, watts});
  return samples;
}

// 100 W for the first third, then 500 W.
Series load(int count) {
  Series samples;
  for (int i = 0; i < count; ++i) samples.push_back({1e9 + i, i < count / 3 ? 100.0 : 500.0});
  return samples;
}

// A query that repeats the last reading of a scrape each `scrape` samples.
Series repeated(std::uint64_t seed, int count, int scrape) {
  Noise sensor(seed);
  Series samples;
  for (int i = 0; i < count; ++i) {
    const double watts = i % scrape == 0 ? sensor.watts() : samples.back().watts;
    samples.push_back({1e9 + i, watts});
  }
  return samples;
}

Series rounded(Series samples) {
  for (Sample& sample : samples) sample.watts = std::round(sample.watts);
  return samples;
}

std::string reasons(const std::vector<Series>& all, const SeriesRules& rules = {}) {
  std::vector<DeviceSeries> devices;
  for (std::size_t i = 0; i < all.size(); ++i) devices.push_back({std::to_string(i), all[i]});
  std::string codes;
  for (const std::string& one : series_reasons(devices, rules).codes()) codes += one + " ";
  return codes;
}

// ---- Good recordings

TEST(SeriesCheck, AcceptsSensorsOfTheirOwn) {
  EXPECT_EQ(reasons({}), "");
  EXPECT_EQ(reasons({{}}), "");
  EXPECT_EQ(reasons({noise(1, 300)}), "");
  EXPECT_EQ(reasons({noise(1, 300), noise(2, 300), noise(3, 300)}), "");
  EXPECT_EQ(reasons({rounded(noise(1, 300)), rounded(noise(2, 300))}), "");
}

TEST(SeriesCheck, AcceptsConstantPowerAndSteps) {
  EXPECT_EQ(reasons({constant(500, 100), constant(500, 100)}), "");
  EXPECT_EQ(reasons({load(100), load(100)}), "");
}

// Five plateaus: 5 values at 100 times, and 4 moves.
TEST(SeriesCheck, AcceptsPlateausThatSeveralGpusShare) {
  Series plateaus;
  for (int i = 0; i < 100; ++i) plateaus.push_back({1e9 + i, 100.0 + 100.0 * (i / 20)});
  EXPECT_EQ(reasons({plateaus, plateaus}, {.max_sample_gap_s = 60}), "");
}

// ---- Several GPUs in one series

TEST(SeriesCheck, RefusesRowsThatComeMillisecondsApart) {
  for (const int gpus : {2, 3, 4, 8, 12}) {
    for (const double apart_s : {0.001, 0.002, 0.004}) {
      Series rows;
      Noise sensor(1);
      for (int tick = 0; tick < 60; ++tick) {
        for (int gpu = 0; gpu < gpus; ++gpu) {
          rows.push_back({1e9 + tick + apart_s * gpu, sensor.watts()});
        }
      }
      EXPECT_EQ(reasons({rows}), "several_gpus_in_one_series ") << gpus << " GPUs, " << apart_s;
    }
  }
}

// GPUs of about the same power in groups 2 ms apart: 93 and 98 W when they rest.
TEST(SeriesCheck, RefusesGpusThatDifferWhereTheyRest) {
  Series rows;
  Noise load(1);
  Noise own(2);
  for (int tick = 0; tick < 100; ++tick) {
    const double watts = load.watts();
    rows.push_back({1e9 + tick, tick < 15 ? 93.1 : watts + (own.watts() - 500) / 10});
    rows.push_back({1e9 + tick + 0.002, tick < 15 ? 98.2 : watts + (own.watts() - 500) / 10});
  }
  EXPECT_EQ(reasons({rows}), "several_gpus_in_one_series ");
}

// 400 and 500 W in turn, at work only: a load in step. If it rests at 90 and 95 W, it is two GPUs.
TEST(SeriesCheck, AcceptsALoadInStepThatRestsAlike) {
  for (const double apart_w : {0.0, 5.0}) {
    Series rows;
    Noise chance(2);
    for (int i = 0; i < 120; ++i) {
      const double high_w = i < 20 ? 90 + (i % 2) * apart_w : 400 + 100 * (i % 2);
      rows.push_back({1e9 + i, high_w + chance.watts() / 2000});
    }
    EXPECT_EQ(reasons({rows}, {.window = {1e9 + 20, 1e9 + 110}}),
              apart_w > 0 ? "several_gpus_in_one_series " : "");
  }
}

// The same sensor asked eight times within 14 ms says the same eight times.
TEST(SeriesCheck, AcceptsAReadingThatIsRepeatedWithinMilliseconds) {
  Series rows;
  Noise sensor(1);
  for (int tick = 0; tick < 60; ++tick) {
    const double watts = sensor.watts();
    for (int again = 0; again < 8; ++again) rows.push_back({1e9 + tick + 0.002 * again, watts});
  }
  EXPECT_EQ(reasons({rows}), "");
}

// 3 rows within 20 ms, of a power that changes little meanwhile.
TEST(SeriesCheck, AcceptsOneGpuWhoseRowsComeInBursts) {
  Series rows;
  Noise sensor(1);
  Noise chance(2);
  for (int tick = 0; tick < 60; ++tick) {
    const double watts = sensor.watts();
    for (int again = 0; again < 3; ++again) {
      rows.push_back({1e9 + tick + 0.01 * again, watts + (chance.watts() - 500) / 25});
    }
  }
  EXPECT_EQ(reasons({rows}), "");
}

// 0.2 s and 0.3 s in turn, and a load in step with it that moves by a tenth of its power: by more
// it would be two GPUs in turn.
TEST(SeriesCheck, AcceptsGapsInTurn) {
  Series rows;
  Noise chance(2);
  for (int i = 0; i < 200; ++i) {
    rows.push_back(
        {1e9 + 0.5 * (i / 2) + 0.2 * (i % 2), (i % 2 == 0 ? 480 : 500) + chance.watts() / 20});
  }
  EXPECT_EQ(reasons({rows}), "");
}

TEST(SeriesCheck, RefusesTwoReadingsAtOneTime) {
  Series rows;
  Noise sensor(1);
  for (int tick = 0; tick < 60; ++tick) {
    rows.push_back({1e9 + tick + 0.25, sensor.watts()});
    rows.push_back({1e9 + tick + 0.25, sensor.watts()});
  }
  EXPECT_EQ(reasons({rows}), "several_gpus_in_one_series ");
}

// Whole seconds. GPUs from 97 % to 103 % of one power keep their places in each second, or not; one
// GPU that is asked each 126 ms has 8 readings in most seconds and 7 in some.
TEST(SeriesCheck, RefusesAsManyReadingsInEachSecond) {
  for (const int gpus : {2, 3, 8, 16}) {
    for (const bool keep_places : {true, false}) {
      Series rows;
      Noise chance(3);
      for (int tick = 0; tick < 60; ++tick) {
        for (int gpu = 0; gpu < gpus; ++gpu) {
          const int place = keep_places ? gpu : (gpu + static_cast<int>(chance.watts())) % gpus;
          const double level = 0.97 + 0.06 * place / (gpus - 1);
          rows.push_back({1e9 + tick, 600 * level + (chance.watts() - 500) / 10});
        }
      }
      EXPECT_EQ(reasons({rows}), keep_places ? "several_gpus_in_one_series " : "") << gpus;
      const std::vector<DeviceSeries> devices = {{"0", rows}};
      EXPECT_TRUE(keep_places ||
                  possible_series_reasons(devices, {}).contains(Reason::several_gpus_in_one_series))
          << gpus;
    }
  }
  Series one = noise(1, 480, 0.126);
  for (Sample& row : one) row.unix_s = std::floor(row.unix_s);
  const std::vector<DeviceSeries> devices = {{"0", one}};
  EXPECT_EQ(reasons({one}), "");
  EXPECT_FALSE(possible_series_reasons(devices, {}).contains(Reason::several_gpus_in_one_series));
}

// Two GPUs; some rows of the second lack its name, and are recorded as a third one. Three GPUs that
// are asked in turn are no such case, nor is one that another replaces.
TEST(SeriesCheck, RefusesOneGpuUnderTwoNames) {
  const Series first = noise(1, 120);
  const Series second = noise(2, 120);
  for (const int every : {2, 3, 10}) {
    Series named;
    Series other;
    for (int i = 0; i < 120; ++i) (i % every == 0 ? other : named).push_back(second[i]);
    EXPECT_EQ(reasons({first, named, other}), "gpu_identity_conflict ") << every;
    EXPECT_EQ(reasons({named, other}), every == 2 ? "" : "gpu_identity_conflict ") << every;
  }
  EXPECT_EQ(reasons({noise(1, 60, 3), noise(2, 60, 3, 1e9 + 1), noise(3, 60, 3, 1e9 + 2)}), "");
  EXPECT_EQ(reasons({first, noise(2, 60), noise(3, 60, 1, 1e9 + 60)}), "");
}

// Twice a second in whole seconds, with a power that rises by 30 W/s for a third of the time.
TEST(SeriesCheck, AcceptsARiseWithinCoarseStamps) {
  Series rows;
  Noise chance(5);
  for (int i = 0; i < 120; ++i) {
    const double load_w = std::min(100 + 15.0 * i, 700.0);
    rows.push_back({1e9 + i / 2, load_w + (chance.watts() - 500) / 20});
  }
  EXPECT_EQ(reasons({rows}), "");
}

// Whole seconds, and a recorder that is twice or three times as fast.
TEST(SeriesCheck, AcceptsStampsThatAreCoarserThanTheSampling) {
  for (const double step_s : {0.5, 0.4, 0.35, 0.1}) {
    Series rows = noise(1, 300, step_s);
    for (Sample& row : rows) row.unix_s = std::floor(row.unix_s);
    EXPECT_EQ(reasons({rows}), "") << step_s;
    rows[150].unix_s += 0.25;  // a damaged one
    EXPECT_EQ(reasons({rows}), "") << step_s;
  }
}

// 300 W and 120 W in turn, at whole seconds.
TEST(SeriesCheck, RefusesProcessesOfOneGpu) {
  Series rows;
  for (int i = 0; i < 75; ++i) {
    rows.push_back({1e9 + i, 300});
    rows.push_back({1e9 + i, 120});
  }
  EXPECT_EQ(reasons({rows}), "several_gpus_in_one_series ");
}

// A row for each process, each with the power of the GPU.
TEST(SeriesCheck, AcceptsRowsPerProcessThatRepeatThePower) {
  Series rows;
  for (const Sample& sample : noise(1, 100, 1, 1e9 + 0.5)) {
    rows.push_back(sample);
    rows.push_back(sample);
    rows.push_back(sample);
  }
  EXPECT_EQ(reasons({rows}), "");
}

// A load that repeats itself every two samples.
TEST(SeriesCheck, AcceptsALoadInStepWithTheSampling) {
  Series rows;
  for (int i = 0; i < 200; ++i) rows.push_back({1e9 + i * 0.5, i % 2 == 0 ? 300.0 : 600.0});
  EXPECT_EQ(reasons({rows}), "");
}

// ---- One sensor

TEST(SeriesCheck, RefusesOneSensorUnderSeveralNames) {
  const Series sensor = rounded(noise(1, 100));
  EXPECT_EQ(reasons({sensor, sensor}), "same_sensor ");
  EXPECT_EQ(reasons({sensor, noise(2, 100), sensor, noise(2, 100)}), "same_sensor ");
  std::vector<DeviceSeries> devices = {{"0", sensor}, {"1", sensor}};
  const Series other = noise(2, 100);
  devices.push_back({"2", other});
  EXPECT_EQ(series_reasons(devices, {}).text(),
            "same_sensor (the readings of GPUs 0, 1 are the same at all times: they are of one "
            "sensor; --gpus 0,2 keeps one of each)");
}

// 20 times and 5 values suffice, 19 times do not.
TEST(SeriesCheck, NeedsTwentyTimesAndFiveValues) {
  Series sensor;
  for (int i = 0; i < 20; ++i) sensor.push_back({1e9 + i, 100.0 + i % 5});
  EXPECT_EQ(reasons({sensor, sensor}), "same_sensor ");
  sensor.pop_back();
  EXPECT_EQ(reasons({sensor, sensor}), "");
  Series four;
  for (int i = 0; i < 60; ++i) four.push_back({1e9 + i, 100.0 + i % 4});
  EXPECT_EQ(reasons({four, four}), "");
}

// A tool asks one partition after the other, and the sensor moves meanwhile now and then.
TEST(SeriesCheck, RefusesOneSensorThatMovesBetweenTwoRows) {
  const Series first = noise(1, 200);
  Series second = first;
  for (Sample& sample : second) sample.unix_s += 0.003;
  for (std::size_t i = 10; i < second.size(); i += 25) second[i].watts += 1;  // 8 of 200
  EXPECT_EQ(reasons({first, second}), "same_sensor ");
}

// Each name of it adds noise of 0.1 W.
TEST(SeriesCheck, RefusesOneSensorWithNoise) {
  Series copies[] = {noise(1, 200), noise(1, 200), noise(1, 200)};
  Noise chance(5);
  for (Series& copy : copies) {
    for (Sample& sample : copy) sample.watts += (chance.watts() - 500) / 500;
  }
  EXPECT_EQ(reasons({copies[0], copies[1], copies[2]}), "same_sensor ");
}

// 30 readings near 100 W, and 70 of 392 to 394 W, with noise of 0.3 W for each name.
TEST(SeriesCheck, RefusesOneSensorWithNoiseAtASteadyLoad) {
  Noise sensor(1);
  Noise chance(5);
  Series first;
  for (int i = 0; i < 100; ++i) {
    first.push_back({1e9 + i, (i < 30 ? 100 : 393) + (sensor.watts() - 500) / 50});
  }
  Series second = first;
  for (Sample& sample : second) sample.watts += (chance.watts() - 500) / 167;
  EXPECT_EQ(reasons({first, second}), "same_sensor ");
  // GPUs of the same power at a limit, each with noise of its own.
  for (std::size_t i = 0; i < 100; ++i) {
    second[i].watts = (i < 30 ? 100 : 393) + (chance.watts() - 500) / 50;
  }
  EXPECT_EQ(reasons({first, second}), "");
}

// 25 to 75 W in steps of 5 W: GPUs 0.3 % apart differ once in 22 times, so 100 equal times are no
// proof.
TEST(SeriesCheck, WarnsOfEqualReadingsInCoarseSteps) {
  Series coarse;
  Noise chance(1);
  for (int i = 0; i < 100; ++i) {
    coarse.push_back({1e9 + i, 5 * std::round(chance.watts() / 10 - 40)});
  }
  EXPECT_EQ(reasons({coarse, coarse}), "");
  EXPECT_TRUE(possible_series_reasons(std::vector<DeviceSeries>{{"0", coarse}, {"1", coarse}}, {})
                  .contains(Reason::same_sensor));
}

// 5 of 61 readings differ by a step of 5 W.
TEST(SeriesCheck, AcceptsCoarseSensorsInStep) {
  Series first;
  for (const Sample& sample : noise(1, 61)) {
    first.push_back({sample.unix_s, 5 * std::round(sample.watts / 5)});
  }
  Series second = first;
  for (std::size_t i = 3; i < second.size(); i += 12) second[i].watts += 5;
  EXPECT_EQ(reasons({first, second}), "");
  EXPECT_EQ(reasons({first, first}), "same_sensor ");
}

TEST(SeriesCheck, AcceptsGpusInStepWithSensorsOfTheirOwn) {
  const Series first = noise(1, 200);
  Series second = first;
  for (std::size_t i = 0; i < second.size(); i += 3) second[i].watts += 0.01;
  EXPECT_EQ(reasons({first, second}), "");
  // Whole watts, equal in 2 of 3 samples.
  Series whole = rounded(first);
  for (std::size_t i = 0; i < whole.size(); i += 3) whole[i].watts += 1;
  EXPECT_EQ(reasons({rounded(first), whole}), "");
}

// Whole watts, a watt more or less in 2 of 3 samples: GPUs of their own differ by more than that at
// 500 W, and not at a fifth of it.
TEST(SeriesCheck, RefusesOneSensorInWholeWattsWithAWattOfJitter) {
  for (const double share : {1.0, 0.2}) {
    Series first = noise(1, 200);
    for (Sample& sample : first) sample.watts = std::round(share * sample.watts);
    Series second = first;
    for (std::size_t i = 0; i + 1 < second.size(); i += 3) {
      second[i].watts += 1;
      second[i + 1].watts -= 1;
    }
    EXPECT_EQ(reasons({first, second}), share == 1 ? "same_sensor " : "") << share;
  }
}

TEST(Sameness, FindsCopiesOfRecordings) {
  const Series sensor = noise(1, 100);
  const std::span<const Sample> all = sensor;
  EXPECT_EQ(sameness(all, all, true), Sameness::certain);
  EXPECT_EQ(sameness(all, all.first(60), true), Sameness::certain);
  EXPECT_EQ(sameness(all.subspan(30), all.first(60), true), Sameness::certain);
  EXPECT_EQ(sameness(all.subspan(50), all.first(60), true), Sameness::none);  // 10 in common
  EXPECT_EQ(sameness(all, noise(2, 100), true), Sameness::none);
}

// Another recorder asks 0.3 s later, and sees the reading of that second, to 0.1 W or to a watt.
TEST(Sameness, FindsAGpuThatTwoRecordersAsked) {
  const Series sensor = noise(1, 100);
  Series other = sensor;
  for (Sample& sample : other) {
    sample.unix_s += 0.3;
    sample.watts = std::round(sample.watts * 10) / 10;
  }
  EXPECT_EQ(sameness(sensor, other, true), Sameness::certain);
  EXPECT_EQ(sameness(sensor, rounded(other), true), Sameness::certain);
  EXPECT_EQ(sameness(sensor, noise(2, 100, 1, 1e9 + 0.3), true), Sameness::none);
}

TEST(Sameness, IsPossibleForStepsOnly) {
  EXPECT_EQ(sameness(load(60), load(60), true), Sameness::possible);
  EXPECT_EQ(sameness(load(60), load(60), false), Sameness::none);
  EXPECT_EQ(sameness(constant(500, 60), constant(500, 60), true), Sameness::none);
}

// ---- Repeated readings

TEST(Refresh, IsTheTimeBetweenNewValues) {
  EXPECT_EQ(refresh_s(noise(1, 300)), std::nullopt);
  EXPECT_NEAR(refresh_s(repeated(1, 300, 15)).value(), 15, 1e-9);
  EXPECT_NEAR(refresh_s(repeated(1, 240, 60)).value(), 60, 1e-9);  // 4 values
  EXPECT_NEAR(refresh_s(rounded(repeated(1, 300, 10))).value(), 10, 1e-9);
  EXPECT_NEAR(refresh_s(repeated(1, 600, 5)).value(), 5, 1e-9);
  EXPECT_EQ(refresh_s(repeated(1, 120, 60)), std::nullopt);  // 1 change
}

TEST(SeriesCheck, RefusesReadingsThatRepeatForLongerThanTheGap) {
  EXPECT_EQ(reasons({repeated(1, 300, 30)}), "readings_repeat ");
  EXPECT_EQ(reasons({repeated(1, 300, 30)}, {.max_sample_gap_s = 29}), "readings_repeat ");
  EXPECT_EQ(reasons({repeated(1, 300, 30)}, {.max_sample_gap_s = 30}), "");
  EXPECT_EQ(reasons({repeated(1, 300, 2)}), "");  // every 2 s
}

// A whole watt more or less, now and then.
TEST(Refresh, IsUnknownForARoundedIdleSensor) {
  Series idle;
  Noise chance(1);
  double watts = 45;
  for (int i = 0; i < 600; ++i) {
    if (chance.watts() > 530) watts = watts == 45 ? 46 : 45;
    idle.push_back({1e9 + i, watts});
  }
  EXPECT_EQ(refresh_s(idle), std::nullopt);
}

// At its limit of 700 W, with dips of one sample at random times.
TEST(Refresh, IsUnknownForAGpuAtItsLimit) {
  Series capped;
  Noise chance(1);
  for (int i = 0; i < 600; ++i) {
    const double dip = chance.watts();
    capped.push_back({1e9 + i, dip > 545 ? std::round(dip) : 700});
  }
  EXPECT_EQ(refresh_s(capped), std::nullopt);
}

// A scrape now and then: each value stays until the next one, from 4 to 13 s.
TEST(SeriesCheck, RefusesReadingsThatAreHeldAtTimesWithoutAPeriod) {
  Series held;
  Noise sensor(1);
  Noise chance(2);
  for (int values = 0; values < 15; ++values) {
    const double watts = sensor.watts();
    const int seconds = 4 + static_cast<int>(chance.watts()) % 10;
    for (int i = 0; i < seconds; ++i)
      held.push_back({1e9 + static_cast<double>(held.size()), watts});
  }
  EXPECT_EQ(refresh_s(held), std::nullopt);
  EXPECT_EQ(reasons({held}), "readings_repeat ");
  EXPECT_EQ(reasons({held}, {.max_sample_gap_s = 15}), "");
  // Levels of a test are round numbers.
  for (Sample& sample : held) sample.watts = 10 * std::round(sample.watts / 10);
  EXPECT_EQ(reasons({held}), "");
}

// Few values may be levels of a test, whatever they are: 3 of them for 20 s each.
TEST(SeriesCheck, WarnsOfFewValuesThatAreHeld) {
  Series held;
  for (const double watts : {71.83, 512.37, 498.11}) {
    for (int i = 0; i < 20; ++i) held.push_back({1e9 + static_cast<double>(held.size()), watts});
  }
  EXPECT_EQ(reasons({held}), "");
  const std::vector<DeviceSeries> devices = {{"0", held}};
  EXPECT_EQ(possible_series_reasons(devices, {}).text(),
            "readings_repeat (GPU 0 reads the same for 20 s)");
  const Series moves = noise(1, 60);
  EXPECT_TRUE(possible_series_reasons(std::vector<DeviceSeries>{{"0", moves}}, {}).empty());
}

// A reading each 15 s, and values on straight lines in between.
TEST(SeriesCheck, RefusesReadingsThatAreInterpolated) {
  Series scraped = noise(1, 9, 15);
  Series lines;
  for (std::size_t k = 1; k < scraped.size(); ++k) {
    for (int i = 0; i < 15; ++i) {
      const double share = i / 15.0;
      const double watts = scraped[k - 1].watts * (1 - share) + scraped[k].watts * share;
      lines.push_back({scraped[k - 1].unix_s + i, std::round(watts * 100) / 100});
    }
  }
  EXPECT_EQ(reasons({lines}), "readings_repeat ");
  EXPECT_EQ(reasons({lines}, {.max_sample_gap_s = 20}), "");
}

// Each for 30 s: some are round numbers by chance, and the steps are no last digits.
TEST(SeriesCheck, WarnsOfHeldValuesWhateverTheyAre) {
  const std::vector<std::vector<double>> all = {
      {84.5, 477.2, 425.0, 85.7}, {602, 582, 609, 568}, {528, 55}, {104, 592, 596, 593}};
  for (const std::vector<double>& values : all) {
    Series held;
    for (const double watts : values) {
      for (int i = 0; i < 30; ++i) held.push_back({1e9 + static_cast<double>(held.size()), watts});
    }
    EXPECT_TRUE(possible_series_reasons(std::vector<DeviceSeries>{{"0", held}}, {})
                    .contains(Reason::readings_repeat))
        << values.front();
  }
}

// 62.5 W, 311.5 W from the window's start to its end: a load.
TEST(SeriesCheck, AcceptsStepsAtTheEdgesOfTheWindow) {
  Series load;
  for (int i = 0; i < 100; ++i) load.push_back({1e9 + i, i < 20 || i >= 80 ? 62.3 : 311.7});
  const std::vector<DeviceSeries> devices = {{"0", load}};
  EXPECT_TRUE(possible_series_reasons(devices, {.window = {1e9 + 20, 1e9 + 80}}).empty());
  EXPECT_FALSE(possible_series_reasons(devices, {.window = {1e9 + 10, 1e9 + 70}}).empty());
}

// Whole watts on lines of 30 s between 326, 290, 210, 300 and 100 W.
TEST(SeriesCheck, RefusesShallowLinesOfWholeWatts) {
  const double scraped_w[] = {326, 290, 210, 300, 100};
  Series lines;
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 30; ++i) {
      const double watts = scraped_w[k] + (scraped_w[k + 1] - scraped_w[k]) * i / 30;
      lines.push_back({1e9 + 30 * k + i, std::round(watts)});
    }
  }
  EXPECT_EQ(reasons({lines}), "readings_repeat ");
}

// 10 W more each second, up and down: a test of one slope.
TEST(SeriesCheck, AcceptsRampsOfATest) {
  Series ramp;
  for (int i = 0; i < 120; ++i) ramp.push_back({1e9 + i, 100.0 + 10 * (i < 60 ? i : 120 - i)});
  EXPECT_EQ(reasons({ramp}), "");
}

// 60 W, then 300 W and a watt more every 5 s.
TEST(SeriesCheck, AcceptsWholeWattsThatDrift) {
  Series drift;
  for (int i = 0; i < 20; ++i) drift.push_back({1e9 + i, 60});
  for (int i = 0; i < 120; ++i) drift.push_back({1e9 + 20 + i, 300.0 + i / 5});
  EXPECT_EQ(reasons({drift}), "");
}

// ---- Stuck sensors

// It hangs for 45 of the window's 60 s, at a reading of its load.
TEST(SeriesCheck, RefusesASensorThatHangsInMostOfTheWindow) {
  for (const bool is_whole : {false, true}) {
    Series hangs = is_whole ? rounded(noise(1, 100)) : noise(1, 100);
    const double watts = 487;
    for (std::size_t i = 30; i < 75; ++i) hangs[i].watts = is_whole ? watts : 487.13;
    EXPECT_EQ(reasons({hangs}, {.window = {1e9 + 20, 1e9 + 80}}), "stuck_sensor ") << is_whole;
  }
}

// One whole number next to a GPU that works, and says that it is idle.
TEST(SeriesCheck, AcceptsAnIdleGpuOfOneWholeNumber) {
  EXPECT_EQ(reasons({load(60), constant(140, 60)}), "");  // others idle at 100 W
  const Series busy = noise(1, 60);
  const Series idle = constant(138, 60);
  Series moves = busy;
  for (std::size_t i = 0; i < 20; ++i) moves[i].watts -= 250;
  std::vector<DeviceSeries> devices = {{"0", moves}, {"1", idle}};
  EXPECT_FALSE(series_reasons(devices, {}).contains(Reason::same_sensor));
  devices[1].utilization_pct.assign(60, 0);
  EXPECT_TRUE(series_reasons(devices, {}).empty()) << series_reasons(devices, {}).text();
}

TEST(SeriesCheck, RefusesASensorThatIsStuckWhileOthersMove) {
  EXPECT_EQ(reasons({load(60), constant(311, 60), load(60)}), "stuck_sensor ");
  EXPECT_EQ(reasons({load(60), constant(0, 60)}), "stuck_sensor ");
  std::vector<DeviceSeries> devices;
  const Series moving = load(60);
  const Series stuck = constant(311, 60);
  devices.push_back({"0", moving});
  devices.push_back({"1", stuck});
  // In the window, the last 40 s, 311 W of 811 W: 38.3 %.
  EXPECT_EQ(series_reasons(devices, {.window = {1e9 + 20, 1e9 + 60}}).text(),
            "stuck_sensor (GPU 1 reads 311 W in all 60 samples while GPU 0 went from 100 to 500 W; "
            "it is 38.3 % of the energy)");
}

// 311.07 W from 20 s before the window to 20 s after it: no load changes so little. Whole watts may
// be a coarse sensor, and within the window or near it a load may be as steady.
TEST(SeriesCheck, RefusesOneValueWithDecimalsAroundTheWindow) {
  const Window window = {1e9 + 20, 1e9 + 80};
  EXPECT_EQ(reasons({constant(311.07, 101)}, {.window = window}), "stuck_sensor ");
  EXPECT_EQ(reasons({constant(311.07, 101), noise(1, 101)}, {.window = window}), "stuck_sensor ");
  // Below a quarter of the other's 550 W, it may be idle.
  EXPECT_EQ(reasons({constant(105.25, 101), noise(1, 101)}, {.window = window}), "");
  EXPECT_EQ(reasons({constant(311, 101)}, {.window = window}), "");
  EXPECT_EQ(reasons({constant(311.07, 101)}, {.window = {1e9 + 5, 1e9 + 80}}), "");
  EXPECT_EQ(reasons({constant(311.07, 101)}, {.window = {1e9 + 20, 1e9 + 95}}), "");
}

// A board at 450 to 550 W reads 0 W from 30 s on; the window has 61 readings.
TEST(SeriesCheck, RefusesZerosOfABoardThatIsOn) {
  const SeriesRules rules{.window = {1e9 + 20, 1e9 + 80}};
  const auto with_zeros = [](int first, int count, int step = 1) {
    Series samples = noise(1, 100);
    for (int i = 0; i < count; ++i) {
      samples[static_cast<std::size_t>(first + i * step)].watts = 0;
    }
    return samples;
  };
  for (const int zeros : {4, 10, 30, 49}) {
    EXPECT_EQ(reasons({with_zeros(30, zeros)}, rules), "stuck_sensor ") << zeros;
    EXPECT_EQ(reasons({noise(2, 100), with_zeros(30, zeros)}, rules), "stuck_sensor ") << zeros;
  }
  EXPECT_EQ(reasons({with_zeros(30, 20, 2)}, rules), "stuck_sensor ");  // every second one
  EXPECT_EQ(reasons({with_zeros(10, 15)}, rules), "stuck_sensor ");     // 5 of them in the window
  EXPECT_EQ(reasons({with_zeros(30, 3)}, rules), "");
  EXPECT_EQ(reasons({with_zeros(5, 14)}, rules), "");  // before the window
  EXPECT_EQ(reasons({with_zeros(0, 40)}, rules), "");  // it was off until then
  Series small = with_zeros(30, 30);
  small[90].watts = 12;  // a board that draws little when it rests
  EXPECT_EQ(reasons({small}, rules), "");
}

// 4 of 501 readings: 0.8 %.
TEST(SeriesCheck, WarnsOfZerosThatChangeLittle) {
  Series rests = noise(1, 600);
  for (std::size_t i = 300; i < 304; ++i) rests[i].watts = 0;
  const SeriesRules rules{.window = {1e9 + 50, 1e9 + 550}};
  const std::vector<DeviceSeries> devices = {{"0", rests}};
  EXPECT_TRUE(series_reasons(devices, rules).empty());
  EXPECT_EQ(possible_series_reasons(devices, rules).text(),
            "stuck_sensor (GPU 0 reads 0 W in 4 of its 501 samples in the window, and more than "
            "15 W in all others: it was on, and the energy lacks what it drew meanwhile)");
}

TEST(SeriesCheck, AcceptsAnIdleGpuBesideOthers) {
  EXPECT_EQ(reasons({load(60), constant(110, 60)}), "");  // others idle at 100 W
  // One of four draws less than the others when it is idle.
  Series low = load(60);
  for (Sample& sample : low) sample.watts -= 40;
  EXPECT_EQ(reasons({low, load(60), constant(110, 60), load(60)}), "");
}

// One odd reading of another GPU is no load.
TEST(SeriesCheck, AcceptsConstantPowerBesideASpike) {
  Series spike = constant(500, 60);
  spike[30].watts = 0;
  EXPECT_EQ(reasons({spike, constant(300, 60)}), "");
}

TEST(SeriesCheck, RefusesOnePowerWhileTheGpuStartsToWork) {
  const Series stuck = constant(95, 60);
  DeviceSeries device{"0", stuck};
  for (int i = 0; i < 60; ++i) device.utilization_pct.push_back(i < 20 ? 0 : 98);
  EXPECT_TRUE(series_reasons(std::vector{device}, {}).contains(Reason::stuck_sensor));
  for (double& percent : device.utilization_pct) percent = 98;
  EXPECT_TRUE(series_reasons(std::vector{device}, {}).empty());
}

// It read noise for 60 s, hung at its last reading 10 s before the window, and shows it to the end.
TEST(SeriesCheck, RefusesASensorThatHangsBeforeTheWindow) {
  Series hung = noise(7, 60);
  for (int i = 60; i < 130; ++i) hung.push_back({1e9 + i, 82.07});
  const SeriesRules rules{.window = {1e9 + 70, 1e9 + 130}};
  DeviceSeries device{"0", hung};
  for (int i = 0; i < 70; ++i) device.utilization_pct.push_back(i < 10 ? 0 : 97);
  EXPECT_EQ(series_reasons(std::vector{device}, rules).text(),
            "stuck_sensor (GPU 0 reads 82.07 W in all 70 samples around the window while its "
            "utilization went from 0 to 97 %; it is 100.0 % of the energy)");
  // It worked all the time: no power with decimals is that steady.
  for (double& percent : device.utilization_pct) percent = 97;
  EXPECT_TRUE(series_reasons(std::vector{device}, rules).contains(Reason::stuck_sensor));
  // Whole watts may be.
  for (Sample& sample : hung) sample.watts = std::round(sample.watts);
  EXPECT_TRUE(series_reasons(std::vector{device}, rules).empty());
}

// Steps between levels are made, and believed.
TEST(SeriesCheck, AcceptsALevelOfAStepWhileTheGpuWorks) {
  Series steps = constant(100.5, 60);
  for (int i = 60; i < 130; ++i) steps.push_back({1e9 + i, 500.5});
  DeviceSeries device{"0", steps};
  device.utilization_pct.assign(70, 97);
  EXPECT_TRUE(series_reasons(std::vector{device}, {.window = {1e9 + 70, 1e9 + 130}}).empty());
}

// Whole watts at the limit while the GPU gets warm; with decimals no power is that steady.
TEST(SeriesCheck, LetsOnlyWholeWattsStayWhileTheGpuGetsWarm) {
  for (const double watts : {750.0, 311.07}) {
    const Series steady = constant(watts, 60);
    DeviceSeries device{"0", steady};
    for (int i = 0; i < 60; ++i) device.temperature_c.push_back(40 + i / 2);
    EXPECT_EQ(series_reasons(std::vector{device}, {}).empty(), watts == 750) << watts;
  }
}

// The sensor moved before the window, and hangs in it.
TEST(SeriesCheck, RefusesASensorThatHangsInTheWindow) {
  Series hangs = noise(1, 100);
  for (int i = 40; i < 100; ++i) hangs[static_cast<std::size_t>(i)].watts = 505.25;
  Series moves = noise(2, 100);
  for (int i = 70; i < 100; ++i) moves[static_cast<std::size_t>(i)].watts -= 300;
  const SeriesRules rules{.window = {1e9 + 45, 1e9 + 95}};
  EXPECT_EQ(reasons({hangs, moves}, rules), "stuck_sensor ");
  EXPECT_EQ(reasons({noise(1, 100), moves}, rules), "");
}

// Idle at 110 or 111 W, and stuck at 110 W from 10 s before the window on.
TEST(SeriesCheck, RefusesAnIdleReadingThatStaysWhileTheGpuWorks) {
  Series hung;
  for (int i = 0; i < 30; ++i) hung.push_back({1e9 + i, 110.0 + i / 2 % 2});
  for (int i = 30; i < 110; ++i) hung.push_back({1e9 + i, 110});
  const SeriesRules rules{.window = {1e9 + 40, 1e9 + 90}};
  DeviceSeries device{"0", hung};
  for (int i = 0; i < 80; ++i) device.utilization_pct.push_back(i < 10 || i >= 60 ? 0 : 95);
  EXPECT_TRUE(series_reasons(std::vector{device}, rules).contains(Reason::stuck_sensor));
  // Without another column it may have rested, so this is a warning.
  device.utilization_pct.clear();
  EXPECT_TRUE(series_reasons(std::vector{device}, rules).empty());
  EXPECT_TRUE(possible_series_reasons(std::vector{device}, rules).contains(Reason::stuck_sensor));
}

// 60 W, then 700 W and never more: held at its limit, with a clock that follows the load.
TEST(SeriesCheck, AcceptsAGpuAtItsLimitWhoseClockChanges) {
  Series held;
  for (int i = 0; i < 100; ++i) held.push_back({1e9 + i, i < 30 || i >= 90 ? 60.0 : 700.0});
  const SeriesRules rules{.window = {1e9 + 30, 1e9 + 90}};
  DeviceSeries device{"0", held};
  for (int i = 0; i < 60; ++i) device.clock_mhz.push_back(i % 2 == 0 ? 1980 : 1410);
  device.utilization_pct.assign(60, 96);
  EXPECT_TRUE(series_reasons(std::vector{device}, rules).empty());
  EXPECT_TRUE(possible_series_reasons(std::vector{device}, rules).empty());
}

// From 210 to 1,980 MHz: more than a fifth.
TEST(SeriesCheck, RefusesOnePowerWhileTheClockChanges) {
  const Series stuck = constant(95.5, 60);
  DeviceSeries device{"0", stuck};
  for (int i = 0; i < 60; ++i) device.clock_mhz.push_back(i < 20 ? 210 : 1980);
  EXPECT_EQ(series_reasons(std::vector{device}, {}).text(),
            "stuck_sensor (GPU 0 reads 95.5 W in all 60 samples while its clock went from 210 to "
            "1980 MHz; it is 100.0 % of the energy)");
  device.clock_mhz.assign(60, 1980);
  EXPECT_TRUE(series_reasons(std::vector{device}, {}).empty());
}

// Two GPUs that work and rest together each 3 s; one hangs for 30 s.
TEST(SeriesCheck, RefusesASensorThatLeavesItsCompany) {
  for (const double watts : {480.0, 100.0}) {
    Series hangs;
    Series moves;
    for (int i = 0; i < 120; ++i) {
      const double load_w = i / 3 % 2 == 0 ? 400 : 0;
      moves.push_back({1e9 + i, 110 + load_w});
      hangs.push_back({1e9 + i, i >= 50 && i < 80 ? watts : 100 + load_w});
    }
    const SeriesRules rules{.window = {1e9 + 40, 1e9 + 100}};
    const std::vector<DeviceSeries> devices = {{"0", hangs}, {"1", moves}};
    // At idle, it may have had no work.
    EXPECT_EQ(series_reasons(devices, rules).contains(Reason::stuck_sensor), watts == 480);
    EXPECT_TRUE(possible_series_reasons(devices, rules).contains(Reason::stuck_sensor));
  }
}

// It works at 450 to 550 W, rests at 60 W for 40 s of 60 s, and works again.
TEST(SeriesCheck, WarnsOfARestInTheWindow) {
  Series rests = rounded(noise(1, 100));
  for (std::size_t i = 30; i < 70; ++i) rests[i].watts = 60;
  rests[10].watts = rests[11].watts = rests[12].watts = rests[13].watts = 60;
  const SeriesRules rules{.window = {1e9 + 20, 1e9 + 80}};
  const std::vector<DeviceSeries> devices = {{"0", rests}};
  EXPECT_TRUE(series_reasons(devices, rules).empty());
  EXPECT_TRUE(possible_series_reasons(devices, rules).contains(Reason::stuck_sensor));
}

// ---- Read at different moments

// A power between 460 and 540 W that changes in seconds, after 20 s at 90 W; read from a moment on.
Series course(double start_s, double gain = 1, double phase = 0, int count = 100) {
  Series samples;
  for (int i = 0; i < count; ++i) {
    const double at_s = i + start_s;
    const double work_w =
        500 + 25 * std::sin(0.7 * at_s + phase) + 15 * std::sin(0.23 * at_s + phase);
    const double watts = gain * (at_s < 20 ? 90 + 0.5 * std::sin(0.4 * at_s + phase) : work_w);
    samples.push_back({1e9 + at_s, std::round(100 * watts) / 100});
  }
  return samples;
}

std::string reasons_of(const std::vector<std::string>& names, const std::vector<Series>& all) {
  std::vector<DeviceSeries> devices;
  for (std::size_t i = 0; i < all.size(); ++i) devices.push_back({names[i], all[i]});
  const Reasons certain = series_reasons(devices, {});
  if (!certain.empty()) return certain.text();
  const Reasons possible = possible_series_reasons(devices, {});
  return possible.empty() ? "" : "may be: " + possible.text();
}

TEST(SeriesCheck, FindsOneGpuThatIsReadTwice) {
  for (const double later_s : {0.1, 0.37, 0.5, 0.8}) {
    EXPECT_EQ(reasons({course(0), course(later_s)}), "same_sensor ") << later_s;
    EXPECT_EQ(reasons({course(0), course(later_s / 2), course(later_s)}), "same_sensor ");
  }
  const std::string text =
      reasons_of({"0", "1", "cuda:0", "cuda:1"},
                 {course(0), course(0, 1.03, 2), course(0.4), course(0.4, 1.03, 2)});
  EXPECT_NE(text.find("GPUs 0, cuda:0, and of GPUs 1, cuda:1 agree"), text.npos) << text;
  EXPECT_NE(text.find("--gpus 0,1 keeps one of each"), text.npos) << text;
}

TEST(SeriesCheck, AcceptsGpusThatAreReadAtDifferentMoments) {
  // In step with other gains; at one level with fluctuations of their own; constant.
  EXPECT_EQ(reasons({course(0), course(0.4, 1.01)}), "");
  EXPECT_EQ(reasons({course(0), course(0.4, 0.995)}), "");
  EXPECT_EQ(reasons({course(0), course(0.3, 1, 2), course(0.6, 1, 4)}), "");
  Series constant_later = load(100);
  for (Sample& sample : constant_later) sample.unix_s += 0.4;
  EXPECT_EQ(reasons({load(100), constant_later}), "");
}

// Of eight GPUs, two agree by chance.
TEST(SeriesCheck, AcceptsTwoOfManyGpusThatAgree) {
  std::vector<Series> all;
  for (int i = 0; i < 8; ++i) all.push_back(course(0.1 * i, 1 + 0.01 * (i % 7)));
  EXPECT_EQ(reasons(all), "");
}

}  // namespace series_check_test
}  // namespace aggregate_power
