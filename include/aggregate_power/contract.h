// The versions of the original whose rules can judge a run.
#pragma once

#include <string_view>

namespace aggregate_power {

// Contract.md describes the rules of August 2026, contract-october.md what changed in them since.
enum class Contract { august, october };

constexpr std::string_view name(Contract contract) {
  return contract == Contract::august ? "august" : "october";
}

}  // namespace aggregate_power
