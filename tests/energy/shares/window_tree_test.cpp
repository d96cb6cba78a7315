// Nesting, overlaps and what is left of a window; expected values were computed by hand, or by a
// slow search of all pairs.
#include "energy/shares/window_tree.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/energy/curve.h"

namespace aggregate_power {
namespace window_tree_test {

constexpr std::uint32_t kNone = WindowTree::kNone;

double own_s(const WindowTree& tree, std::size_t window) {
  double sum_s = 0;
  for (const Window& stretch : tree.own(window)) sum_s += stretch.duration_s();
  return sum_s;
}

TEST(WindowTree, FindsTheInnermostWindowAround) {
  // In the order of neither their starts nor their lengths.
  const WindowTree tree(std::vector<Window>{{2, 3}, {0, 10}, {1, 5}, {6, 9}, {20, 21}});
  EXPECT_EQ(tree.parent(0), 2U);
  EXPECT_EQ(tree.parent(1), kNone);
  EXPECT_EQ(tree.parent(2), 1U);
  EXPECT_EQ(tree.parent(3), 1U);
  EXPECT_EQ(tree.parent(4), kNone);
  EXPECT_EQ(tree.depth(0), 2U);
  EXPECT_EQ(tree.depth(4), 0U);
  EXPECT_EQ(own_s(tree, 1), 10 - 4 - 3);
  EXPECT_EQ(own_s(tree, 2), 4 - 1);
  EXPECT_EQ(own_s(tree, 0), 1);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(tree.overlap(i), kNone) << i;
}

TEST(WindowTree, PutsTheLaterOfTwoEqualWindowsInside) {
  const WindowTree tree(std::vector<Window>{{0, 4}, {0, 4}, {0, 2}, {2, 4}});
  EXPECT_EQ(tree.parent(0), kNone);
  EXPECT_EQ(tree.parent(1), 0U);
  EXPECT_EQ(tree.parent(2), 1U);
  EXPECT_EQ(tree.parent(3), 1U);
  EXPECT_EQ(own_s(tree, 0), 0);
  EXPECT_EQ(own_s(tree, 1), 0);
}

TEST(WindowTree, FlagsBothWindowsOfAnOverlap) {
  const WindowTree tree(std::vector<Window>{{0, 4}, {3, 6}, {6, 8}, {3.5, 3.75}});
  EXPECT_EQ(tree.overlap(0), 1U);
  EXPECT_EQ(tree.overlap(1), 0U);
  EXPECT_EQ(tree.overlap(2), kNone);  // touches, but shares no time
  EXPECT_EQ(tree.overlap(3), kNone);
  EXPECT_EQ(tree.parent(3), 1U);  // the one that begins last
}

TEST(WindowTree, CountsTheCommonTimeOfChildrenOnce) {
  const WindowTree tree(std::vector<Window>{{0, 10}, {1, 4}, {3, 6}});
  EXPECT_EQ(own_s(tree, 0), 10 - 5);
}

TEST(WindowTree, TakesAMillionNestedWindows) {
  constexpr std::size_t kMany = 1'000'000;
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kMany; ++i) {
    windows.push_back({static_cast<double>(i), 4e6 - static_cast<double>(i)});
  }
  const WindowTree tree(windows);
  EXPECT_EQ(tree.depth(kMany - 1), kMany - 1);
  EXPECT_EQ(own_s(tree, 0), 2);
}

bool is_inside(const Window& inner, const Window& outer) {
  return inner.start_unix_s >= outer.start_unix_s && inner.end_unix_s <= outer.end_unix_s;
}

TEST(WindowTree, AgreesWithASearchOfAllPairs) {
  std::mt19937 random(20260908);
  for (int round = 0; round < 300; ++round) {
    std::vector<Window> windows;
    const auto count = 1 + random() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const auto start = static_cast<double>(random() % 12);
      windows.push_back({start, start + static_cast<double>(random() % 8)});
    }
    const WindowTree tree(windows);
    for (std::size_t i = 0; i < count; ++i) {
      bool overlaps = false;
      bool has_parent = false;
      for (std::size_t j = 0; j < count; ++j) {
        const bool shares_time = windows[i].start_unix_s < windows[j].end_unix_s &&
                                 windows[j].start_unix_s < windows[i].end_unix_s;
        overlaps |=
            shares_time && !is_inside(windows[i], windows[j]) && !is_inside(windows[j], windows[i]);
        const bool is_equal =
            is_inside(windows[i], windows[j]) && is_inside(windows[j], windows[i]);
        has_parent |= i != j && is_inside(windows[i], windows[j]) && (!is_equal || j < i);
      }
      EXPECT_EQ(tree.overlap(i) != kNone, overlaps) << round << ' ' << i;
      ASSERT_EQ(tree.parent(i) != kNone, has_parent) << round << ' ' << i;
      EXPECT_TRUE(!has_parent || is_inside(windows[i], windows[tree.parent(i)]));
    }
  }
}

// Windows that are pushed and popped divide the outermost one.
TEST(WindowTree, OwnStretchesOfANestedSetSumToTheOutermost) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Window> windows{{0, 1000}};
    std::vector<std::size_t> open{0};
    double now = 0;
    while (now < 990) {
      now += static_cast<double>(random() % 9);
      if (open.size() > 1 && random() % 2 == 0) {
        windows[open.back()].end_unix_s = now;
        open.pop_back();
      } else {
        open.push_back(windows.size());
        windows.push_back({now, 1000});
      }
    }
    std::vector<Sample> samples;
    for (int i = -1; i < 340; ++i)
      samples.push_back({i * 3.0, static_cast<double>(random() % 700)});
    const PowerTrace trace("0", samples, Interpolation::linear);
    const WindowTree tree(windows);
    double sum_s = 0;
    double sum_j = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      sum_s += own_s(tree, i);
      for (const Window& stretch : tree.own(i)) sum_j += trace.energy_j(stretch);
    }
    EXPECT_DOUBLE_EQ(sum_s, 1000);
    EXPECT_NEAR(sum_j, trace.energy_j({0, 1000}), 1e-6);
  }
}

// 100 W at 0 s to 4 s, 0 W at 5 s, 100 W from 10 s to 12 s.
const PowerTrace& trace_with_gap(Interpolation interpolation) {
  static const std::vector<Sample> kSamples{{0, 100},  {2, 100},  {4, 100}, {5, 0},
                                            {10, 100}, {11, 100}, {12, 100}};
  static const PowerTrace kLinear("0", kSamples, Interpolation::linear);
  static const PowerTrace kHold("0", kSamples, Interpolation::hold);
  return interpolation == Interpolation::linear ? kLinear : kHold;
}

TEST(TraceCoverage, SaysWhyAWindowCannotBeMeasured) {
  const TraceCoverage linear(trace_with_gap(Interpolation::linear), 3);
  const std::pair<Window, const char*> kCases[] = {
      {{0, 4}, ""},
      {{10, 12}, ""},
      {{1, 3.5}, ""},
      {{0, 5}, ""},
      {{-1, 4}, "the window begins 1.000 s before the first reading"},
      {{11, 12.5}, "the window ends 0.500 s after the last reading"},
      {{-5, -1}, "the window ends 1.000 s before the first reading"},
      {{13, 14}, "the window begins 1.000 s after the last reading"},
      {{3, 3}, "the window takes no time"},
      {{1, 11}, "5.000 s between two readings, at most 3 s"},
      {{6, 7}, "5.000 s between two readings, at most 3 s"},
      {{1, 4.5}, "the first reading after the window is 0 W"}};
  for (const auto& [window, fault] : kCases) {
    EXPECT_EQ(linear.fault(window), fault) << window.start_unix_s << ' ' << window.end_unix_s;
  }
  const TraceCoverage patient(trace_with_gap(Interpolation::linear), 5);
  EXPECT_EQ(patient.fault({1, 11}), "");
  EXPECT_EQ(patient.fault({6, 11}), "the last reading before the window is 0 W");
}

TEST(TraceCoverage, KnowsNoGapsOfARecorderOfChanges) {
  const TraceCoverage hold(trace_with_gap(Interpolation::hold), 3);
  EXPECT_EQ(hold.fault({1, 11}), "");
  EXPECT_EQ(hold.fault({6, 7}), "");
  EXPECT_EQ(hold.fault({11, 13}), "the window ends 1.000 s after the last reading");
}

}  // namespace window_tree_test
}  // namespace aggregate_power
