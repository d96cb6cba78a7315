// What a comparison came to, for people, pull requests and programs.
#pragma once

#include <string>

#include "decide/compare/compare.h"

namespace aggregate_power {

enum class CompareFormat { table, json, markdown };

// Of two sides, or of the base alone.
std::string comparison_text(const RunComparisons& compared, CompareFormat format);

// What the gate would have caught.
std::string gate_test_text(const RunComparisons& compared, CompareFormat format);

}  // namespace aggregate_power
