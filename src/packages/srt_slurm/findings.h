// The findings of a package's checks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"

namespace aggregate_power {

// Reasons and their details, one sentence each.
struct Findings {
  Reasons reasons;
  std::vector<std::string> failures;

  void add(Reason reason, const std::string& detail);
  void add(const Reasons& others);  // each detail becomes a sentence
  void add(const Findings& others);
};

// Whether nothing was found but what the caller accepts.
bool is_accepted(const Findings& findings, std::span<const Reason> accepts);

// A sentence as the detail of a reason: on one line, and not too long.
std::string shortened(const std::string& detail);

}  // namespace aggregate_power
