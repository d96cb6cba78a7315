// One line that sums up a valid run. Contract.md A.9, B.9.
#pragma once

#include <string>

#include "aggregate_power/result.h"

namespace aggregate_power {

std::string success_line(const Result& result, const std::string& aggregate);

}  // namespace aggregate_power
