// One line that sums up a run. Contract.md A.9, B.9.
#pragma once

#include <string>

#include "aggregate_power/result.h"

namespace aggregate_power {

// The verdict on the CPUs of a package, valid or not. Contract-october.md 2.9.
std::string cpu_line(const CpuPower& cpu);

std::string success_line(const Result& result, const std::string& aggregate);

}  // namespace aggregate_power
