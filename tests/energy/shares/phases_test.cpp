// The watts of phases from readings that are known exactly.
#include "energy/shares/phases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "truth/random.h"

namespace aggregate_power {
namespace phase_power_test {

using Texts = std::vector<std::string>;

RequestTimes request_from(double start_s, double first_s, double end_s) {
  RequestTimes request;
  request.start_s = start_s;
  request.first_token_s = first_s;
  request.end_s = end_s;
  request.input_tokens = 100;
  request.output_tokens = 50;
  return request;
}

TEST(PhaseActivity, CountsPhasesAndStates) {
  const RequestTimes requests[] = {request_from(0, 2, 6), request_from(1, 3, 5),
                                   request_from(9, 9, 9)};
  const PhaseActivity activity(requests);
  const Activity all = activity.in({-1, 10});
  EXPECT_DOUBLE_EQ(all.prefills, 4);
  EXPECT_DOUBLE_EQ(all.decodes, 6);
  EXPECT_DOUBLE_EQ(all.prefill_s, 3);  // 0 to 3
  EXPECT_DOUBLE_EQ(all.decode_s, 3);   // 3 to 6
  EXPECT_DOUBLE_EQ(all.further_decodes, 2);
  EXPECT_DOUBLE_EQ(all.idle_s, 1 + 4);
  const Activity part = activity.in({1.5, 2.5});
  EXPECT_DOUBLE_EQ(part.prefills, 1.5);
  EXPECT_DOUBLE_EQ(part.decodes, 0.5);
  EXPECT_DOUBLE_EQ(activity.in({20, 22}).idle_s, 2);
}

TEST(NonNegativeFit, FindsTheLine) {
  const FitRows rows{2, {1, 0, 1, 1, 1, 2, 1, 3}, {5, 7, 9, 11}};
  const NonNegativeFit fit = fit_non_negative(rows, 1);
  EXPECT_NEAR(fit.coefficients[0], 5, 1e-9);
  EXPECT_NEAR(fit.coefficients[1], 2, 1e-9);
  EXPECT_NEAR(fit.r2, 1, 1e-12);
}

TEST(NonNegativeFit, HoldsASlopeAtZero) {
  const FitRows rows{2, {1, 0, 1, 1, 1, 2}, {6, 5, 4}};
  const NonNegativeFit fit = fit_non_negative(rows, 0);
  EXPECT_EQ(fit.coefficients[1], 0);
  EXPECT_NEAR(fit.coefficients[0], 5, 1e-9);  // the mean
}

// White's errors by hand: x is 1, residuals -1, 1, 2, -2, so that their squares sum to 10.
TEST(NonNegativeFit, HasRobustErrors) {
  const FitRows rows{1, {1, 1, 1, 1}, {4, 6, 7, 3}};
  EXPECT_NEAR(fit_non_negative(rows, 0).standard_error(0), std::sqrt(10.0 / 16 * 4 / 3), 1e-12);
  // One lag, with a weight of a half: 10 + (-1 + 2 - 4) = 7.
  EXPECT_NEAR(fit_non_negative(rows, 1).standard_error(0), std::sqrt(7.0 / 16 * 4 / 3), 1e-12);
}

TEST(NonNegativeFit, RefusesColumnsThatFollowFromOthers) {
  EXPECT_TRUE(fit_non_negative({2, {1, 2, 1, 2, 1, 2}, {1, 2, 3}}, 0).is_singular);
}

TEST(CorrelationCondition, IsOfTheCorrelations) {
  // Correlated by a half: the eigenvalues are 1.5 and 0.5.
  const FitRows rows{2, {1, 0, 0, 1, -1, -1}, {0, 0, 0}};
  EXPECT_NEAR(correlation_condition(rows, {0, 1}), std::sqrt(3), 1e-9);
}

// Requests at random times, on a server without noise that draws 100 W, 200 W for each prefill and
// 20 W for each decode; a sensor of moments.
PhaseQuestion clean_question(std::size_t seconds, double apart_s) {
  truth::Random random(3);
  PhaseQuestion question;
  question.window = {0, static_cast<double>(seconds)};
  const double end_s = question.window.end_unix_s;
  for (double at_s = 0; (at_s += random.exponential(apart_s)) < end_s;) {
    const double first_s = at_s + random.uniform(0.2, 1);
    question.requests.push_back(request_from(at_s, first_s, first_s + random.uniform(1, 6)));
  }
  question.sensors = {{.window_s = 1, .refresh_s = 0, .delay_s = 0, .delay_uncertainty_s = 0.001}};
  const PhaseActivity activity(question.requests);
  const auto joules = [&](Window window) {
    const Activity in = activity.in(window);
    return 100 * window.duration_s() + 200 * in.prefills + 20 * in.decodes;
  };
  for (double at_s = 0.25; at_s <= end_s; at_s += 1) {
    question.readings.push_back({at_s, joules({at_s - 1, at_s})});
  }
  question.energy_j = joules(question.window);
  return question;
}

TEST(PhasePower, IsExactWithoutNoise) {
  const PhaseQuestion question = clean_question(200, 1.5);
  const PhaseEnergy energy = phase_energy(question).energy;
  ASSERT_EQ(energy.refused, Texts());
  EXPECT_EQ(energy.model, PhaseModel::counts);
  EXPECT_NEAR(energy.prefill.watts, 200, 0.5);
  EXPECT_NEAR(energy.decode.watts, 20, 0.1);
  EXPECT_NEAR(energy.idle->watts, 100, 0.5);
  EXPECT_NEAR(energy.r2, 1, 1e-4);
  EXPECT_NEAR(energy.unexplained_j, 0, 1e-3 * question.energy_j);
  EXPECT_DOUBLE_EQ(energy.idle->energy_j + energy.prefill.energy_j + energy.decode.energy_j +
                       energy.unexplained_j,
                   question.energy_j);
}

TEST(PhasePower, IsPerTokenOfThePhase) {
  PhaseQuestion question = clean_question(200, 1.5);
  double input = 0;  // 100 tokens each, of the last ones the part inside
  for (const RequestTimes& each : question.requests) {
    input += 100 * (std::min(each.first_token_s, 200.0) - each.start_s) /
             (each.first_token_s - each.start_s);
  }
  const PhaseEnergy energy = phase_energy(question).energy;
  EXPECT_NEAR(*energy.joules_per_input_token, energy.prefill.energy_j / input, 1e-9);
  question.requests[3].input_tokens = -1;
  EXPECT_EQ(phase_energy(question).energy.joules_per_input_token, std::nullopt);
  question.requests[3].failed = true;
  EXPECT_NE(phase_energy(question).energy.joules_per_input_token, std::nullopt);
}

TEST(PhasePower, IsRefusedWhereNothingCanBeTold) {
  EXPECT_EQ(phase_energy(clean_question(15, 1.5)).energy.refused, Texts{"too_few_readings"});
  PhaseQuestion question = clean_question(200, 1.5);
  question.sensors[0].refresh_s = 2;
  EXPECT_EQ(phase_energy(question).energy.refused, Texts{"phase_shorter_than_refresh"});
  question = clean_question(200, 1.5);
  question.requests[5].first_token_s = RequestTimes::kUnknown;
  EXPECT_EQ(phase_energy(question).energy.refused, Texts{"first_tokens_unknown"});
  question = clean_question(200, 1.5);
  for (Sample& reading : question.readings) reading.unix_s = std::floor(reading.unix_s);
  EXPECT_EQ(phase_energy(question).energy.refused, Texts{"stamps_of_whole_seconds"});
  question = clean_question(200, 1.5);
  truth::Random random(5);
  for (Sample& reading : question.readings) reading.watts = random.uniform(100, 900);
  const Texts refused = phase_energy(question).energy.refused;
  EXPECT_NE(std::ranges::find(refused, "model_does_not_fit"), refused.end());
  question.requests.clear();
  EXPECT_EQ(phase_energy(question).energy.refused, Texts{"phase_never_varies"});
}

// Sixteen in flight all the time, apart from the rise and the fall.
TEST(PhasePower, IsRefusedAtConstantConcurrency) {
  PhaseQuestion question = clean_question(200, 1.5);
  question.requests.clear();
  truth::Random random(6);
  for (int slot = 0; slot < 16; ++slot) {
    for (double at_s = 0.2 * slot; at_s < 180;) {
      const double first_s = at_s + random.uniform(0.2, 1);
      question.requests.push_back(request_from(at_s, first_s, first_s + random.uniform(1, 6)));
      at_s = question.requests.back().end_s + 0.001;
    }
  }
  EXPECT_EQ(phase_energy(question).energy.refused, Texts{"phase_never_varies"});
  EXPECT_FALSE(phase_energy(question).weights);
}

TEST(PhasePower, AddsReadingsThatWereTakenTogether) {
  const std::vector<Sample> gpus[] = {{{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                                      {{0.1, 10}, {1.1, 20}, {3.1, 40}}};
  const std::vector<Sample> together = readings_together(gpus);
  ASSERT_EQ(together.size(), 3U);
  EXPECT_DOUBLE_EQ(together[1].unix_s, 1.05);
  EXPECT_EQ(together[0].watts, 11);
  EXPECT_EQ(together[1].watts, 22);
  EXPECT_EQ(together[2].watts, 44);
  EXPECT_TRUE(readings_together({}).empty());
}

}  // namespace phase_power_test
}  // namespace aggregate_power
