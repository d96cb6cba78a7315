#include "energy/uncertainty/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "test_util.h"

namespace aggregate_power {
namespace energy_estimate_test {

bool has(const EnergyEstimate& estimate, const std::string& code) {
  return std::ranges::count(estimate.verdicts, code, &Verdict::code) > 0;
}

// `gpus` boards at 400 W for a minute, a reading a second.
EstimateQuestion level_question(int gpus) {
  EstimateQuestion question;
  question.window = {1788852000, 1788852060};
  for (int i = 0; i < gpus; ++i) {
    GpuReadings gpu;
    gpu.name = std::to_string(i);
    gpu.model = "H100";
    gpu.sensors = {SensorModel{}};
    for (double at = -5.3; at < 66; at += 1) {
      gpu.samples.push_back({question.window.start_unix_s + at, 400});
    }
    question.gpus.push_back(gpu);
  }
  return question;
}

TEST(EnergyEstimate, OfConstantPowerIsExact) {
  const EnergyEstimate estimate = estimate_energy(level_question(2));
  ASSERT_TRUE(estimate.is_available());
  EXPECT_EQ(estimate.method, "random_walk_posterior");
  EXPECT_NEAR(estimate.published_j, 2 * 400 * 60, 1e-6);
  EXPECT_NEAR(estimate.total.joules, 2 * 400 * 60, 2);
  EXPECT_NEAR(estimate.gpus[1].energy.joules, 400 * 60, 1);
  // Gain: 312 W above the pivot; shared in the sum, each board's own in quadrature.
  const double gain = 312 * 60;
  const double accuracy = std::sqrt(std::pow(2 * 0.022 * gain, 2) + 2 * std::pow(0.029 * gain, 2) +
                                    2 * std::pow(4.9 * 60, 2));
  const double repeatability = estimate.total.repeatability_j();
  EXPECT_NEAR(estimate.total.standard_uncertainty_j(), std::hypot(accuracy, repeatability), 1);
  EXPECT_LT(repeatability, 0.003 * estimate.total.joules);
  EXPECT_TRUE(has(estimate, "steady_state"));
  EXPECT_TRUE(has(estimate, "averaged_sensor"));
  EXPECT_FALSE(has(estimate, "stuck_sensor"));
  EXPECT_FALSE(has(estimate, "published_biased"));
}

TEST(EnergyEstimate, AccountsForEachJouleOfItsCorrections) {
  EstimateQuestion question = level_question(2);
  for (std::size_t i = 0; i < question.gpus[0].samples.size(); ++i) {
    question.gpus[0].samples[i].watts += 3 * static_cast<double>(i % 7);
  }
  question.gpus[0].samples[20].watts = 0;
  const EnergyEstimate estimate = estimate_energy(question);
  double joules = estimate.published_j;
  for (const Correction& one : estimate.corrections) joules += one.joules;
  EXPECT_NEAR(joules, estimate.total.joules, 1e-6);
  EXPECT_TRUE(has(estimate, "implausible_readings"));
  const auto biased = std::ranges::find(estimate.verdicts, "published_biased", &Verdict::code);
  ASSERT_NE(biased, estimate.verdicts.end());
  EXPECT_EQ(biased->gpus, std::vector<std::string>{"0"});  // the other one reads 400 W throughout
}

TEST(EnergyEstimate, TakesACounterThatAgrees) {
  EstimateQuestion question = level_question(1);
  GpuReadings& gpu = question.gpus[0];
  // Moments of a load that varies by half; the counter misses nothing and counts 410 W.
  gpu.sensors = {SensorModel{.window_s = 0.025}};
  for (std::size_t i = 0; i < gpu.samples.size(); ++i) {
    Sample& sample = gpu.samples[i];
    sample.watts = i * 7 % 5 < 2 ? 600 : 267;
    gpu.counter.push_back({sample.unix_s, 410 * (sample.unix_s - 1788850000)});
  }
  const EnergyEstimate estimate = estimate_energy(question);
  ASSERT_TRUE(estimate.gpus[0].counter);
  EXPECT_TRUE(estimate.gpus[0].counter->used);
  EXPECT_NEAR(estimate.gpus[0].counter->energy_j.value(), 59 * 410, 1e-3);
  // The counter tells 59 s, a moment or two the rest.
  EXPECT_NEAR(estimate.total.joules, 60 * 410, 250);
  EXPECT_NEAR(estimate.gpus[0].counter->disagreement.value(), 410.0 / 400 - 1, 0.02);
}

TEST(EnergyEstimate, BelievesACounterMoreThanMomentsInStepWithALoad) {
  EstimateQuestion question = level_question(1);
  GpuReadings& gpu = question.gpus[0];
  gpu.sensors = {SensorModel{.window_s = 0.025}};  // every reading meets 400 W, of 352 W on average
  for (const Sample& sample : gpu.samples) {
    gpu.counter.push_back({sample.unix_s, 352 * (sample.unix_s - 1788850000)});
  }
  const EnergyEstimate estimate = estimate_energy(question);
  EXPECT_FALSE(has(estimate, "counter_rejected"));
  EXPECT_TRUE(estimate.gpus[0].counter->used);
  // 59 s of the counter, 1 s of the readings.
  EXPECT_NEAR(estimate.total.joules, 59 * 352 + 400, 10);
  // One of the two is wrong: the interval holds the readings, too.
  EXPECT_GE(estimate.total.repeatability_high_j(), 60 * 400);
}

TEST(EnergyEstimate, RejectsACounterThatDoesNot) {
  EstimateQuestion question = level_question(1);
  GpuReadings& gpu = question.gpus[0];
  for (const Sample& sample : gpu.samples) {
    gpu.counter.push_back({sample.unix_s, 440 * (sample.unix_s - 1788850000)});
  }
  const EnergyEstimate estimate = estimate_energy(question);
  EXPECT_TRUE(has(estimate, "counter_rejected"));
  EXPECT_FALSE(estimate.gpus[0].counter->used);
  EXPECT_NEAR(estimate.total.joules, 400 * 60, 1);
}

TEST(EnergyEstimate, HoldsARejectedCounterThatMomentsMayHaveMissed) {
  EstimateQuestion question = level_question(1);
  GpuReadings& gpu = question.gpus[0];
  gpu.sensors = {SensorModel{.window_s = 0.025}};
  gpu.samples[0].watts = 80;  // idle, 5.3 s before the window
  const auto count = [&](double watts) {
    gpu.counter.clear();
    for (const Sample& sample : gpu.samples) {
      gpu.counter.push_back({sample.unix_s, watts * (sample.unix_s - 1788850000)});
    }
    return estimate_energy(question);
  };
  // 400 W at every reading and 100 W between them, in step: 280 W on average.
  const EnergyEstimate in_step = count(280);
  EXPECT_TRUE(has(in_step, "counter_rejected"));
  EXPECT_NEAR(in_step.total.joules, 400 * 60, 1);
  EXPECT_LT(in_step.total.repeatability_low_j(), 280 * 60);
  // 120 W of 59 s between the first and the last reading, over the root of three.
  EXPECT_NEAR(in_step.total.repeatability_j(), 120 * 59 / std::sqrt(3), 70);
  // No reading is above 400 W: that counter is wrong.
  const EnergyEstimate impossible = count(600);
  EXPECT_TRUE(has(impossible, "counter_rejected"));
  EXPECT_LT(impossible.total.repeatability_high_j(), 1.1 * 400 * 60);
}

// 600 W over 70 W: a quarter of a second is 132 J at the edge of the load.
TEST(EnergyEstimate, DoubtsTimesAtTheEndOfALoadAsAtItsStart) {
  for (const bool starts : {false, true}) {
    for (const bool averages : {false, true}) {
      EstimateQuestion question = level_question(1);
      question.clock_uncertainty_s = 0.25;
      GpuReadings& gpu = question.gpus[0];
      gpu.samples.clear();
      gpu.sensors = {SensorModel{.window_s = averages ? 1 : 0.025}};
      const Window window = question.window;
      const Window load = starts ? Window{window.start_unix_s, 2e9} : Window{0, window.end_unix_s};
      for (double at = window.start_unix_s - 9.7; at < window.end_unix_s + 9;
           at += averages ? 0.1 : 1) {
        const double mean = std::clamp(at - load.start_unix_s, 0.0, 1.0) -
                            std::clamp(at - load.end_unix_s, 0.0, 1.0);
        const double moment = load.contains(at) ? 1 : 0;
        const double noise_w = static_cast<double>(gpu.samples.size() % 7);
        gpu.samples.push_back({at, 70 + noise_w + 530 * (averages ? mean : moment)});
      }
      const EnergyEstimate estimate = estimate_energy(question);
      ASSERT_TRUE(estimate.is_available());
      const auto& parts = estimate.total.components;
      const auto timing = std::ranges::find(parts, "timing", &Component::name);
      ASSERT_NE(timing, parts.end());
      // Means show where the edge is, within what they allow.
      EXPECT_GT(timing->joules, averages ? 60 : 120) << starts << averages;
      EXPECT_LT(timing->joules, 200) << starts << averages;
    }
  }
}

// 400 W that swing by 150 W in 220 s; for 176 s, about a peak, the sensor shows one value.
TEST(EnergyEstimate, KnowsLittleOfAStuckStretchInALongWindow) {
  EstimateQuestion question = level_question(1);
  const double start = question.window.start_unix_s;
  question.window.end_unix_s = start + 1000;
  const double turn = 2 * std::acos(-1.0) / 220;
  GpuReadings& gpu = question.gpus[0];
  gpu.samples.clear();
  for (int i = -20; i < 1020; ++i) {
    // A mean over a second, and a digit that moves.
    const double held = i >= 412 && i < 588 ? 412 : i;
    gpu.samples.push_back({start + i, 400 - 150 * std::cos(turn * (held - 0.5 - 500)) +
                                          0.01 * (held == i ? i % 7 : 0)});
  }
  const EnergyEstimate estimate = estimate_energy(question);
  ASSERT_TRUE(estimate.is_available());
  ASSERT_TRUE(has(estimate, "stuck_sensor"));
  const double true_j = 400e3 - 150 / turn * 2 * std::sin(turn * 500);
  EXPECT_GT(std::abs(estimate.total.joules / true_j - 1), 0.02);  // nothing shows what it was
  EXPECT_LE(estimate.total.repeatability_low_j(), true_j);
  EXPECT_GE(estimate.total.repeatability_high_j(), true_j);
}

// Means over 100 ms, one after the other: their mean is the mean power.
TEST(EnergyEstimate, CountsPeaksAndSlopesAlike) {
  for (const auto& pattern : {std::vector{62.0, 62.0, 30.0}, std::vector{30.0, 30.0, 62.0}}) {
    EstimateQuestion question = level_question(1);
    GpuReadings& gpu = question.gpus[0];
    gpu.sensors = {SensorModel{.window_s = 0.1}};
    gpu.samples.clear();
    for (std::size_t i = 0; i < 800; ++i) {
      gpu.samples.push_back(
          {question.window.start_unix_s - 10 + 0.1 * static_cast<double>(i), pattern[i % 3]});
    }
    const double mean_w = (pattern[0] + pattern[1] + pattern[2]) / 3;
    EXPECT_NEAR(estimate_energy(question).total.joules, mean_w * 60, 0.004 * mean_w * 60);
  }
}

TEST(EnergyEstimate, GivesReasonsInsteadOfNumbers) {
  EstimateQuestion question = level_question(2);
  question.gpus[1].sensors.clear();
  EXPECT_EQ(estimate_energy(question).reasons, std::vector<std::string>{"sensor_scope_unknown"});
  question = level_question(2);
  question.gpus[1].samples.resize(7);
  EXPECT_EQ(estimate_energy(question).reasons, std::vector<std::string>{"too_few_readings"});
}

TEST(EnergyEstimate, IsFiniteWhateverTheReadings) {
  std::mt19937 random(3);
  const auto draw = [&](double most) { return most * static_cast<double>(random() % 10001) / 1e4; };
  for (int run = 0; run < test::rounds(300); ++run) {
    EstimateQuestion question;
    question.window = {1788852000, 1788852000 + 0.5 + draw(40)};
    const bool cut = random() % 2 != 0;
    for (std::size_t i = 0; i <= random() % 2; ++i) {
      GpuReadings gpu;
      gpu.name = std::to_string(i);
      gpu.sensors = {
          SensorModel{.window_s = random() % 2 ? 1 : 0.001 + draw(0.3), .refresh_s = draw(1)}};
      if (random() % 3 == 0) gpu.sensors.push_back(SensorModel{.window_s = 0.1});
      const double longest_s = random() % 2 ? 0.1 : 3;
      double at = question.window.start_unix_s - draw(5);
      while (at < question.window.end_unix_s + draw(5)) {
        const double watts = random() % 5 == 0 ? 0 : random() % 2 ? 300 : draw(1e5);
        gpu.samples.push_back({cut ? std::floor(at) : at, watts});
        if (random() % 2) gpu.counter.push_back({gpu.samples.back().unix_s, draw(1e6)});
        if (random() % 4 != 0) at += draw(longest_s);
      }
      if (cut) gpu.stamps = Stamps::whole_seconds;
      question.gpus.push_back(std::move(gpu));
    }
    const EnergyEstimate estimate = estimate_energy(question);
    if (!estimate.is_available()) continue;
    EXPECT_TRUE(std::isfinite(estimate.total.joules)) << run;
    EXPECT_TRUE(std::isfinite(estimate.total.standard_uncertainty_j())) << run;
    EXPECT_LE(estimate.total.low_j(), estimate.total.repeatability_low_j()) << run;
  }
}

}  // namespace energy_estimate_test
}  // namespace aggregate_power
