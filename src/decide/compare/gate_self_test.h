// Whether a comparison could have said "worse": the same runs, made worse by known amounts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decide/compare/compare.h"

namespace aggregate_power {

struct GateTrial {
  double amount = 0;  // 0.01: 1 % more of what less is better, or less of what more is better
  ChangeVerdict verdict = ChangeVerdict::insufficient;
  std::optional<RelativeChange> change;
};

struct GateTest {
  const RunComparison* comparison = nullptr;
  std::vector<GateTrial> trials = {};
  std::optional<double> smallest_caught = {};  // all larger ones are caught as well
};

// One for each comparison, which must live as long. Nothing is written.
std::vector<GateTest> test_gate(const RunComparisons& compared);

// Whether there is a configuration, and something is caught in each.
bool gate_can_fail(const std::vector<GateTest>& tests);

}  // namespace aggregate_power
