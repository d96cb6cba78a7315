// Compact numbers and the curves that they hold.
#include "views/page/page.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace run_curve_test {

TEST(CompactNumbers, AreCharactersOfLinks) {
  const std::optional<int> levels[] = {0, 25, 26, 51, 52, 61, 62, 63, std::nullopt, -5, 99};
  EXPECT_EQ(compact_numbers(levels), "AZaz09-_.A_");
}

TEST(CompactNumbers, ComeBack) {
  for (int level = 0; level < kCompactLevels; ++level) {
    const std::optional<int> levels[] = {level};
    EXPECT_EQ(compact_level(compact_numbers(levels)[0]), level);
  }
  for (const char character : {'.', '+', '"', '\0'}) {
    EXPECT_EQ(compact_level(character), std::nullopt);
  }
}

// A window of 100 s from 1000 s on: 40 columns of 3 s from 990 s to 1110 s.
constexpr Window kWindow{1000, 1100};

TEST(RunCurve, IsTheMeanOfTheGpusAroundTheWindow) {
  // Two GPUs of 100 W until 1002 s, 300 W from 1003 s on; 1002 is the start of column 4.
  const RunCurve curve =
      run_curve({{{900, 200}, {1002, 200}, {1003, 600}, {1200, 600}}}, 2, kWindow);
  ASSERT_EQ(curve.columns.size(), kCurveColumns);
  EXPECT_EQ(curve.peak_w, 300);
  for (const std::size_t before : {0U, 2U}) {
    EXPECT_EQ(curve.columns[before]->low_w, 100);
    EXPECT_EQ(curve.columns[before]->high_w, 100);
  }
  EXPECT_EQ(curve.columns[4]->low_w, 100);
  EXPECT_EQ(curve.columns[4]->high_w, 300);
  EXPECT_EQ(curve.columns[39]->low_w, 300);
}

TEST(RunCurve, KeepsAPeakOfOneSample) {
  const RunCurve curve =
      run_curve({{{900, 100}, {1050, 100}, {1050.5, 700}, {1051, 100}, {1200, 100}}}, 1, kWindow);
  EXPECT_EQ(curve.peak_w, 700);
  EXPECT_EQ(curve.columns[20]->high_w, 700);  // from 1050 s to 1053 s
  EXPECT_EQ(curve.columns[20]->low_w, 100);
}

TEST(RunCurve, HasAScaleThatASpikeDoesNotSet) {
  const auto scale_w = [](double peak_w, double from_s, double to_s) {
    return run_curve({{{900, 300},
                       {from_s, 300},
                       {from_s, peak_w},
                       {to_s, peak_w},
                       {to_s, 300},
                       {1200, 300}}},
                     1, kWindow)
        .scale_w();
  };
  EXPECT_EQ(scale_w(1100, 1050, 1051), 1100);  // less than four times the others
  EXPECT_EQ(scale_w(1300, 1050, 1051), 900);   // more: three times the median
  EXPECT_EQ(scale_w(1300, 1010, 1090), 1300);  // for most of the time: no spike
  EXPECT_EQ(scale_w(99999, 1040, 1055), 900);  // no board draws it
  EXPECT_EQ(scale_w(3500, 1000, 1100), 3500);  // power of a node
  EXPECT_EQ(run_curve({}, 1, kWindow).scale_w(), 0);
}

TEST(RunCurve, LeavesOutWhatIsNotKnown) {
  // Nothing from 1020 s to 1050 s: columns 10 (from 1020 s, whose first instant is known) to 19.
  const RunCurve curve =
      run_curve({{{900, 400}, {1020, 400}}, {{1050, 400}, {1200, 400}}}, 1, kWindow);
  for (std::size_t i = 11; i < 20; ++i) EXPECT_FALSE(curve.columns[i]) << i;
  EXPECT_TRUE(curve.columns[9]);
  EXPECT_TRUE(curve.columns[20]);
  const std::string compact = compact_curve(curve, 400);
  EXPECT_EQ(compact.size(), 2 * kCurveColumns);
  EXPECT_EQ(compact.substr(20, 22), "__" + std::string(18, '.') + "__");
}

TEST(RunCurve, WithoutALineIsEmpty) {
  const RunCurve curve = run_curve({}, 8, kWindow);
  EXPECT_EQ(compact_curve(curve, 700), std::string(2 * kCurveColumns, '.'));
  EXPECT_EQ(curve_path(compact_curve(curve, 700)), "");
}

TEST(CompactCurve, HasTheLowestAndTheHighestOfEachColumn) {
  RunCurve curve;
  curve.columns = {RunCurve::Range{0, 630}, RunCurve::Range{310, 320}, std::nullopt,
                   RunCurve::Range{630, 630}};
  // Levels of 10 W: 0, 63; then from the nearer end, 32, 31.
  EXPECT_EQ(compact_curve(curve, 630), "A_gf..__");
}

TEST(CurvePath, IsBrokenWhereNumbersAreMissing) {
  EXPECT_EQ(curve_path("A_gf..__"), "M0 63L0 0L1 31L1 32M3 0L3 0");
}

}  // namespace run_curve_test
}  // namespace aggregate_power
