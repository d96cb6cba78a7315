// Degrades runs in memory, and compares them.
#include "decide/compare/gate_self_test.h"

#include <algorithm>

namespace aggregate_power {
namespace {

constexpr double kAmounts[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1};

GateTrial gate_trial(const RunComparison& comparison, const CompareRule& rule, double amount) {
  RunComparison degraded = comparison;
  const double factor = rule.is_higher_better ? 1 - amount : 1 + amount;
  for (MeasuredValue& measured : degraded.next.repeats.values) measured.value *= factor;
  judge_change(degraded, rule);
  return {amount, degraded.verdict, degraded.change};
}

}  // namespace

std::vector<GateTest> test_gate(const RunComparisons& compared) {
  std::vector<GateTest> tests;
  for (const RunComparison& comparison : compared.comparisons) {
    GateTest test{.comparison = &comparison};
    for (const double amount : kAmounts) {
      test.trials.push_back(gate_trial(comparison, compared.rule, amount));
      const bool is_caught = test.trials.back().verdict == ChangeVerdict::worse;
      if (!is_caught) {
        test.smallest_caught.reset();
      } else if (!test.smallest_caught) {
        test.smallest_caught = amount;
      }
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

bool gate_can_fail(const std::vector<GateTest>& tests) {
  return !tests.empty() && std::ranges::all_of(tests, [](const GateTest& test) {
    return test.smallest_caught.has_value();
  });
}

}  // namespace aggregate_power
