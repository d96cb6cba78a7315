// What audit records of all kinds have in common, as JSON.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "aggregate_power/analysis/metrics.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/jobs/sidecar.h"

namespace aggregate_power {

using Json = nlohmann::ordered_json;

// JSON has no word for a number that is not finite: that is null.
Json number_or_null(std::optional<double> value);

// The `benchmark_window` of a record; null without one.
Json window_json(const std::optional<Benchmark>& benchmark);

// The `metrics` of a record.
Json metrics_json(const Metrics& metrics);

// What the run was computed from: `inputs`, `options` and `patched` of `computed_from`.
void add_origin(Json& record, const Origin& origin);

// Indented, in ASCII; bytes that are no UTF-8 are replaced.
std::string record_text(const Json& record);

}  // namespace aggregate_power
