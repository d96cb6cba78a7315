// The power limits that were in force, for the record, other JSON and people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "base/report/json_parts.h"

namespace aggregate_power::results {

// The limit of all these GPUs; nullopt: they differ, one was changed, or none is known.
std::optional<double> common_limit_w(std::span<const GpuLimit> limits);

// `power_limits`: by GPU.
Json limits_json(std::span<const GpuLimit> limits);

// "650 W, 12.5 % of the readings at it; GPU 3: 700 W"; empty: none is known.
std::string limits_text(std::span<const GpuLimit> limits);

// A sentence for each GPU whose limit was changed in the window.
std::vector<std::string> limit_warnings(std::span<const GpuLimit> limits);

}  // namespace aggregate_power::results
