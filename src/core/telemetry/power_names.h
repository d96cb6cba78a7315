// Which columns of a header are called the power of a GPU, by their names alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/telemetry/column_names.h"

namespace aggregate_power::columns {

// Names of a power draw and of nothing else: "power_w", "GPU Power Draw [W]".
Found generic_power(const std::vector<Name>& names);

struct LoosePower {
  Found columns;  // that may be the power, best first
  // Why the first may be another quantity, such as the power of a part or a budget, so that only
  // schema 1 takes it; empty: its words are all known not to say so.
  std::string doubt;
};
// The original's rule, less what is known as another quantity.
LoosePower loose_power(const std::vector<Name>& names);

// Whether a name is the name of a power, and not of a limit or another quantity.
bool is_power_name(const std::string& name);

// Whether a name is the power of a whole GPU that something else than a number may name, such as
// "gpu_c_power_w" and "node1_gpu0_power_w". "gpu_power_w" may be a total.
bool may_be_other_gpu(const std::string& name);

// Seconds over which a metric or an expression is a mean, by its name: 300 for
// "avg_over_time(DCGM_FI_DEV_POWER_USAGE[5m])" and "gpu_power:avg5m"; 0 for other names.
double averaged_over_s(std::string_view name);

// The name of a numbered GPU's power: "gpu0_power_w", "GPU 0 Power (W)",
// "system.gpu.0.powerWatts", with a host "system.gpu.0.powerWatts/l:HOST", "gpu/0/power".
struct NumberedPower {
  std::string gpu;
  std::string host = {};
  PowerUnit unit = {};
  bool is_bare = false;  // "GPU0": nothing says that it is a power
};
// Returns nullopt for any other name, such as the name of a limit, a temperature or a total.
std::optional<NumberedPower> numbered_power(std::string_view name);

// The same for the limit in force of a GPU's power: "gpu0_power_limit_w",
// "system.gpu.0.enforcedPowerLimitWatts", "gpu/0/power_limit".
std::optional<NumberedPower> numbered_limit(std::string_view name);
// The same for its utilization in percent: "gpu0_util_pct", "system.gpu.0.gpu",
// "gpu/0/utilization".
std::optional<NumberedPower> numbered_utilization(std::string_view name);

// The names of nvitop's collector: "DAEMON/gpu:0/power_usage (W)/last", "cuda:0 (gpu:3)", where the
// number in brackets counts. Instances of divided GPUs ("gpu:0:1") have no name here.
struct NvitopName {
  std::string gpu = {};
  bool is_last = false;  // the power of the last sample
  bool is_mean = false;  // the mean since the duration's beginning
  bool is_time = false;
  bool is_time_of_last = false;
  bool is_duration = false;
};
NvitopName nvitop_name(std::string_view name);

// Limits of power: "power.limit [W]".
Found power_limits(const std::vector<Name>& names);

}  // namespace aggregate_power::columns
