// The keys of --extended: what today's consumer of aggregates accepts in addition to the
// original's. Contract.md F.1 and F.5.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/text/json_patch.h"

namespace aggregate_power {

// Adds to `edits`, each key once: `power_invalid_reasons` and `power_audit`, within the consumer's
// limits. Values beyond a limit are left out. `record_name` is the audit record's name.
void add_audit_keys(std::vector<JsonEdit>& edits, const Result& result,
                    const std::string& record_name);

// Adds the other ones that only dashboards read: `workers` if they are known, bounds, and energies
// above idle.
void add_dashboard_keys(std::vector<JsonEdit>& edits, const Result& result);

// All keys that a run with --extended may leave, except `power_invalid_reasons`, which every run
// owns. Other programs may set such keys too.
std::vector<std::string_view> dashboard_keys();

// The CPU metrics among them.
std::span<const std::string_view> cpu_metric_keys();

}  // namespace aggregate_power
