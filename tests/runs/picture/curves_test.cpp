// The lines of a picture, from readings made by hand.
#include "runs/picture/curves.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aggregate_power {
namespace power_curves_test {

PowerCurves curves_of(const std::vector<Reading>& readings, PowerCurvesOptions options = {},
                      const std::vector<Window>& pauses = {}) {
  CurveRows rows(options);
  rows.take(Batch{readings});
  Samples samples(kAlways);
  samples.take(readings);
  samples.sort();
  const std::vector<std::string> names = {"0", "1", "2"};
  return power_curves(options, samples, rows, names, pauses);
}

// 1 s apart: (100 + 200) / 2 + (200 + 300) / 2 = 400 J.
TEST(PowerCurves, HaveTheEnergyOfTheRecording) {
  const PowerCurves curves = curves_of({{0, 100}, {1, 200}, {2, 300}});
  ASSERT_EQ(curves.devices.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.devices[0].energy_j, 400);
  EXPECT_EQ(curves.devices[0].lines, (std::vector<Polyline>{{{0, 100}, {1, 200}, {2, 300}}}));
  EXPECT_EQ(curves.sum, curves.devices[0].lines);
  EXPECT_EQ(curves.devices[0].highest_w, 300);
}

TEST(PowerCurves, AverageReadingsOfOneStamp) {
  const PowerCurves curves = curves_of({{0, 100}, {0, 300}, {1, 200}});
  EXPECT_EQ(curves.devices[0].lines, (std::vector<Polyline>{{{0, 200}, {1, 200}}}));
  EXPECT_EQ(curves.devices[0].samples, 2U);
}

TEST(PowerCurves, BreakAtAGap) {
  const PowerCurves curves = curves_of({{0, 100}, {3, 100}, {6.5, 100}, {7, 100}});
  EXPECT_EQ(curves.devices[0].lines,
            (std::vector<Polyline>{{{0, 100}, {3, 100}}, {{6.5, 100}, {7, 100}}}));
  ASSERT_EQ(curves.gaps.size(), 1U);
  EXPECT_EQ(curves.gaps[0].start_unix_s, 3);
  EXPECT_EQ(curves.gaps[0].end_unix_s, 6.5);
  EXPECT_DOUBLE_EQ(curves.devices[0].longest_gap_s, 3.5);
}

TEST(PowerCurves, BreakWhereTheRecorderWasStopped) {
  const PowerCurves curves = curves_of({{0, 1}, {1, 1}, {2, 1}, {3, 1}}, {}, {{1, 2}});
  EXPECT_EQ(curves.devices[0].lines, (std::vector<Polyline>{{{0, 1}, {1, 1}}, {{2, 1}, {3, 1}}}));
  EXPECT_EQ(curves.gap_count, 1U);
}

TEST(PowerCurves, AreStepsOfAPowerThatIsHeld) {
  PowerCurvesOptions options;
  options.interpolation = Interpolation::hold;
  const PowerCurves curves = curves_of({{0, 100}, {50, 200}, {60, 50}}, options);
  EXPECT_EQ(curves.devices[0].lines,
            (std::vector<Polyline>{{{0, 100}, {50, 100}, {50, 200}, {60, 200}, {60, 50}}}));
  EXPECT_DOUBLE_EQ(curves.devices[0].energy_j, 50 * 100 + 10 * 200);
  EXPECT_EQ(curves.gap_count, 0U);
}

// A GPU that is being set up reads 0 W: outside of the window that is no reading, inside it is one.
TEST(PowerCurves, LeaveOutZerosOutsideOfTheWindow) {
  PowerCurvesOptions options;
  options.window = Window{2, 4};
  const PowerCurves curves =
      curves_of({{0, 0}, {1, 10}, {2, 10}, {3, 0}, {4, 10}, {5, 0}}, options);
  EXPECT_EQ(curves.devices[0].lines, (std::vector<Polyline>{{{1, 10}, {2, 10}, {3, 0}, {4, 10}}}));
}

TEST(PowerCurves, MarkWhatOfTheWindowIsNotCovered) {
  PowerCurvesOptions options;
  options.window = Window{0, 10};
  const PowerCurves curves = curves_of({{1, 5}, {2, 5}, {3, 5}}, options);
  ASSERT_EQ(curves.gaps.size(), 2U);
  EXPECT_EQ(curves.gaps[0].start_unix_s, 0);
  EXPECT_EQ(curves.gaps[0].end_unix_s, 1);
  EXPECT_EQ(curves.gaps[1].start_unix_s, 3);
  EXPECT_EQ(curves.gaps[1].end_unix_s, 10);
}

TEST(PowerCurves, CountRowsWithoutAPower) {
  using Kind = Reading::Kind;
  const PowerCurves curves = curves_of({{0, 5},
                                        {1, 0, 0, Kind::no_power},
                                        {2, -4, 0, Kind::negative_power},
                                        {3, 5},
                                        {0, 0, 0, Kind::bad_timestamp},
                                        {4, 5, kNoDevice, Kind::no_device}});
  EXPECT_EQ(curves.invalid_rows, 2U);
  ASSERT_EQ(curves.invalid.size(), 1U);
  EXPECT_EQ(curves.invalid[0].start_unix_s, 1);
  EXPECT_EQ(curves.invalid[0].end_unix_s, 2);
  EXPECT_EQ(curves.unplaced_rows, 1U);
  EXPECT_EQ(curves.unnamed_rows, 1U);
  EXPECT_EQ(curves.devices[0].samples, 2U);
}

TEST(PowerCurves, AreInTheOrderOfTime) {
  EXPECT_EQ(curves_of({{5, 50}, {4, 40}, {6, 60}}).devices[0].lines,
            (std::vector<Polyline>{{{4, 40}, {5, 50}, {6, 60}}}));
}

TEST(PowerCurves, KeepWhatIsBesideTheWindow) {
  PowerCurvesOptions options;
  options.window = Window{100, 200};
  const PowerCurves curves =
      curves_of({{10, 1}, {50, 2}, {100, 3}, {200, 4}, {250, 5}, {270, 6}}, options);
  ASSERT_EQ(curves.beside.size(), 1U);
  ASSERT_EQ(curves.beside[0].samples.size(), 2U);  // within 60 s, and not inside
  EXPECT_EQ(curves.beside[0].samples[0].watts, 2);
  EXPECT_EQ(curves.beside[0].samples[1].watts, 5);
}

TEST(FewStretches, StayFew) {
  FewStretches stretches(0.5);
  for (int i = 0; i < 100000; ++i) stretches.add({i * 10.0, i * 10.0 + 1});
  const std::vector<Window> sorted = stretches.sorted();
  EXPECT_EQ(stretches.count(), 100000U);
  EXPECT_LE(sorted.size(), 512U);
  EXPECT_EQ(sorted.front().start_unix_s, 0);
  EXPECT_EQ(sorted.back().end_unix_s, 999991);
}

}  // namespace power_curves_test
}  // namespace aggregate_power
