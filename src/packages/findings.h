// What checks of a package find.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/reason.h"

namespace aggregate_power {

// Reasons, and what is behind them, a sentence each.
struct Findings {
  Reasons reasons;
  std::vector<std::string> failures;

  void add(Reason reason, const std::string& detail);
  void add(const Reasons& others);  // each detail is a sentence
  void add(const Findings& others);
};

// A sentence as a reason carries it: on one line, and not too long.
std::string shortened(const std::string& detail);

}  // namespace aggregate_power
