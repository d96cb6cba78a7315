// Whether estimates of energy meet known truths. The bounds are those of a few recordings of each
// class; `energy_truth 400` shows the figures of many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "truth/rounds.h"
#include "truth/run_files.h"
#include "truth/truth_table.h"

namespace truth {
namespace truth_test {

constexpr std::size_t kRuns = runs_of_each(8);
constexpr std::uint64_t kSeed = 1;

// Computed once for all tests.
const TruthTable& table() {
  static const TruthTable kTable = [] {
    TruthTable made = make_truth_table(kRuns, kSeed);
    fmt::print("seeds from {}\n{}", kSeed, as_text(made));
    return made;
  }();
  return kTable;
}

class Truth : public testing::Test {
 protected:
  void SetUp() override {
    if (table().groups.empty()) FAIL();
    if (kRuns == 1) GTEST_SKIP() << "a run of each class gives no figures";
  }
};

struct Bounds {
  double mean_error;
  double repeatability_width;
  double repeatability_coverage;
  double full_width;
  double full_coverage;
  double share_given;
};

void expect_within(const Figures& figures, const Bounds& bounds) {
  EXPECT_LE(figures.mean_error, bounds.mean_error);
  EXPECT_LE(figures.repeatability_width, bounds.repeatability_width);
  EXPECT_GE(figures.repeatability.held(), bounds.repeatability_coverage);
  EXPECT_LE(figures.full_width, bounds.full_width);
  EXPECT_GE(figures.full.held(), bounds.full_coverage);
  EXPECT_GE(figures.share_given, bounds.share_given);
}

TEST_F(Truth, IsMetByAveragesAndFastSampling) {
  expect_within(table().group("averages"), {0.0025, 0.025, 0.93, 0.125, 0.88, 1});
  EXPECT_LE(table().group("averages").p95_error, 0.009);
}

TEST_F(Truth, IsMetByCounters) {
  expect_within(table().group("counter"), {0.0045, 0.032, 0.85, 0.125, 0.82, 1});
}

TEST_F(Truth, IsMetByMoments) {
  expect_within(table().group("moments"), {0.025, 0.18, 0.85, 0.23, 0.83, 0.95});
}

TEST_F(Truth, IsMetByFaultyReadings) {
  expect_within(table().group("faults"), {0.01, 0.06, 0.85, 0.14, 0.8, 0.8});
}

TEST_F(Truth, IsMetWithoutALimit) {
  expect_within(table().group("no limit"), {0.025, 0.18, 0.85, 0.23, 0.83, 0.95});
}

TEST_F(Truth, IsMetByLongWindows) {
  expect_within(table().group("long"), {0.005, 0.06, 0.88, 0.135, 0.85, 0.95});
}

TEST_F(Truth, IsMetByAll) {
  expect_within(table().group("all"), {0.008, 0.06, 0.93, 0.135, 0.9, 0.97});
}

// Between runs on the same GPUs, whatever the recorder's period: the loads that constants were
// chosen by, and others. `energy_truth 400 SEED sampling` and `shapes` show each period.
TEST_F(Truth, IsBetweenRunsOnBothSides) {
  for (const char* const group : {"sampling", "shapes"}) {
    const Figures& figures = table().group(group);
    EXPECT_GE(figures.repeatability.held(), 0.89) << group;
    EXPECT_LE(figures.repeatability.missed_above(), 0.09) << group;
    EXPECT_LE(figures.repeatability.missed_below(), 0.09) << group;
    EXPECT_LE(figures.repeatability_width, 0.02) << group;
    EXPECT_GE(figures.full.held(), 0.88) << group;
  }
}

TEST_F(Truth, IsNearerToTheEstimateThanToTheTrapezoidRule) {
  const Figures& all = table().group("all");
  EXPECT_LE(all.mean_error, 0.65 * all.trapezoid_error);
  for (const ClassFigures& one : table().classes) {
    // Many runs stay within a tenth; a few leave this much open.
    EXPECT_LE(one.figures.mean_error, 1.25 * one.figures.trapezoid_error + 0.002) << one.name;
  }
}

TEST_F(Truth, IsKnownToVerdicts) {
  EXPECT_GE(table().verdict("stuck_sensor").recall(), 0.75);
  EXPECT_LE(table().verdict("stuck_sensor").alarm_rate(), 0.02);
  EXPECT_GE(table().verdict("power_capped").recall(), 0.93);
  EXPECT_LE(table().verdict("power_capped").alarm_rate(), 0.02);
  EXPECT_GE(table().verdict("clock_offset_suspected").recall(), 0.75);
  EXPECT_LE(table().verdict("clock_offset_suspected").alarm_rate(), 0.05);
  EXPECT_GE(table().verdict("under_sampled_window").recall(), 0.6);
  EXPECT_LE(table().verdict("under_sampled_window").alarm_rate(), 0.2);
}

// What the bounds rest on: an interval that is too narrow, or in the wrong place, is found out.
TEST_F(Truth, FindsOutAnEstimateThatIsWrong) {
  const RunClass steady = run_classes()[0];
  std::vector<Judged> judged;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SimulatedRun run = simulate(steady, seed);
    aggregate_power::EnergyEstimate estimate = estimate_energy(run.question);
    estimate.total.joules *= 1.05;
    judged.push_back(judge(run, estimate));
  }
  const Figures figures = figures_of(judged);
  EXPECT_NEAR(figures.mean_error, 0.05, 0.003);
  EXPECT_EQ(figures.repeatability.held(), 0);
}

// 100 W in every second cell, at 5 ms.
TEST(TruePower, IsIntegratedExactly) {
  const TruePower power(-0.01, {100, 0, 100, 0});
  EXPECT_NEAR(power.energy_j(-0.01, 0.01), 2 * 100 * 0.005, 1e-12);
  EXPECT_NEAR(power.energy_j(-0.0075, 0.0025), 100 * 0.0025 + 100 * 0.0025, 1e-12);
  EXPECT_NEAR(power.mean_w(-0.01, 0), 50, 1e-9);
}

TEST(SimulatedRun, IsTheSameForTheSameSeed) {
  const RunClass any = run_classes()[1];
  EXPECT_EQ(as_csv(simulate(any, 5)), as_csv(simulate(any, 5)));
  EXPECT_NE(as_csv(simulate(any, 5)), as_csv(simulate(any, 6)));
}

}  // namespace truth_test
}  // namespace truth
