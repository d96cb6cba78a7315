// Reads summaries of sweeps as Zeus publishes them: time and power of an epoch at each limit.
#pragma once

#include <string>
#include <vector>

#include "decisions/limit_sweep.h"
#include "decisions/sweep_rows.h"

namespace aggregate_power {

// Whether the table has power_limit, time_per_epoch and average_power.
bool is_epoch_sweep(const SweepTable& table);

// A scenario for each combination of the other columns, or of those in `keys`, in the order of
// their names. Each row is an epoch's energy: its time times its power. `prefix` begins each name.
// `unusable`: counts rows without all three numbers.
std::vector<LimitScenario> scenarios_of_epochs(const SweepTable& table,
                                               const std::vector<std::string>& keys,
                                               const std::string& prefix, std::size_t& unusable);

}  // namespace aggregate_power
