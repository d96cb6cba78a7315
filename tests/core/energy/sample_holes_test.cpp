// Where the samples of a GPU are missing. Contract-october.md 9.3.
#include "core/energy/curve.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power::energy {
namespace {

std::vector<Sample> every_second(double from, double to) {
  std::vector<Sample> samples;
  for (double at = from; at <= to; ++at) samples.push_back({at, 300});
  return samples;
}

std::vector<Sample> without(std::vector<Sample> samples, double from, double to) {
  std::erase_if(samples, [&](const Sample& one) { return from < one.unix_s && one.unix_s < to; });
  return samples;
}

constexpr Window kWindow = {0, 60};

TEST(SampleHoles, AreGapsAboveTheLimit) {
  const SampleHoles three = holes_of(without(every_second(-2, 62), 10, 13), {}, kWindow, 3);
  EXPECT_TRUE(three.holes.empty());
  EXPECT_EQ(three.covered_share, 1);
  const SampleHoles six = holes_of(without(every_second(-2, 62), 10, 16), {}, kWindow, 3);
  ASSERT_EQ(six.holes.size(), 1U);
  EXPECT_EQ(six.holes[0].start_unix_s, 10);
  EXPECT_EQ(six.holes[0].end_unix_s, 16);
  EXPECT_DOUBLE_EQ(six.covered_share, 1 - 6.0 / 60);
}

TEST(SampleHoles, CountAsFarAsTheyAreInTheWindow) {
  const SampleHoles found = holes_of(without(every_second(-4, 62), -4, 2), {}, kWindow, 3);
  ASSERT_EQ(found.holes.size(), 1U);
  EXPECT_DOUBLE_EQ(found.covered_share, 1 - 2.0 / 60);
}

TEST(SampleHoles, AreAroundCellsWithoutAReading) {
  const double blanks[] = {-1, 20, 30, 31};  // the first is outside
  std::vector<Sample> samples = without(every_second(-2, 62), 19, 21);
  samples = without(samples, 29, 32);
  const SampleHoles found = holes_of(samples, blanks, kWindow, 3);
  ASSERT_EQ(found.holes.size(), 2U);
  EXPECT_EQ(found.holes[0].duration_s(), 2);
  EXPECT_EQ(found.holes[1].duration_s(), 3);
  EXPECT_EQ(found.missing_cells, 3U);
  EXPECT_EQ(found.isolated_cells, 3U);
  EXPECT_EQ(found.covered_share, 1);
}

TEST(SampleHoles, CountNoCellOfAGapAsIsolated) {
  const double blanks[] = {11, 12, 13, 14};
  const SampleHoles found = holes_of(without(every_second(-2, 62), 10, 15), blanks, kWindow, 3);
  EXPECT_EQ(found.missing_cells, 4U);
  EXPECT_EQ(found.isolated_cells, 0U);
  EXPECT_DOUBLE_EQ(found.covered_share, 1 - 5.0 / 60);
}

TEST(SampleHoles, SayWhichEdgeIsMissing) {
  const SampleHoles late = holes_of(every_second(1, 62), {}, kWindow, 3);
  EXPECT_FALSE(late.has_start);
  EXPECT_TRUE(late.has_end);
  EXPECT_FALSE(holes_of(every_second(-1, 59), {}, kWindow, 3).has_end);
  EXPECT_FALSE(holes_of({}, {}, kWindow, 3).has_start);
}

TEST(AllowedMissingCells, AreTwoOrOnePercent) {
  EXPECT_EQ(allowed_missing_cells(0, 1), 2U);
  EXPECT_EQ(allowed_missing_cells(297, 3), 3U);
  EXPECT_EQ(allowed_missing_cells(296, 3), 2U);
}

}  // namespace
}  // namespace aggregate_power::energy
