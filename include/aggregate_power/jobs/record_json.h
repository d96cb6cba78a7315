// Pieces that the audit records of all kinds of runs share.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "aggregate_power/analysis/metrics.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/jobs/sidecar.h"

namespace aggregate_power {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// JSON has no word for a number that is not finite; such a value is left out as null.
Json number_or_null(std::optional<double> value);
// An empty text is null.
Json text_or_null(const std::string& text);

Json window_json(const std::optional<Benchmark>& benchmark);
Json metrics_json(const Metrics& metrics);

Json failed_requests_json(const FailedRequests& failed, bool valid);

// Schema, columns, zone and skipped rows; null, and nothing skipped, where it was not read.
void add_telemetry_facts(Json& record, const std::optional<TelemetryFacts>& telemetry);

// What the run was computed from: `inputs`, `options` and `patched` of `computed_from`.
void add_origin(Json& record, const Origin& origin);

// The text of a record; bytes in it that are no text become U+FFFD.
std::string record_text(const Json& record);

}  // namespace aggregate_power
