// The interval of a run's energy as JSON: the record's object, and keys of the aggregate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "base/text/json_patch.h"

namespace aggregate_power {

// Numbers are not rounded: an interval must not become narrower. `is_valid` takes faults of the
// aggregate into account; the result has an interval, or says why not.
Json uncertainty_json(const Result& result, bool is_valid);

// What an interval is made of.
Json components_json(const Estimate& estimate);

// The keys of --extended, rounded outwards.
std::vector<JsonEdit> uncertainty_edits(const Result& result);
std::vector<std::string_view> uncertainty_keys();

// ---- Gross and net energy as JSON: the record's object, and keys of the aggregate.

// Of a record only what --uncertainty asked for is known; null: it did not.
inline const Uncertainty* requested_interval(const Result& result) {
  return result.uncertainty ? &*result.uncertainty : nullptr;
}

// Of a result with Result::idle. `is_valid` takes faults of the aggregate into account. `interval`:
// of the gross energy; null: it is not known.
Json idle_json(const Result& result, bool is_valid, const Uncertainty* interval);
// The UUIDs of the GPUs that count; empty if one is not known, or if they are the GPUs' ids.
std::vector<std::string> gpu_uuids(const Result& result);
// What each witness saw in the window, which the run has.
Json seen_by_witnesses_json(const Result& result, bool is_valid);
// What a meter of the node would have shown; the result has it.
Json modelled_node_json(const ModelledNode& node);

// For people: "170.00 W together (before_load, 28.0 s)", and "43800.00 J above 10200.00 J, give or
// take 3.00 J". Nullopt: not requested, or there is no baseline.
struct IdleTexts {
  std::string idle;
  std::string net;
};
std::optional<IdleTexts> idle_texts(const Result& result);
// Both as a line.
std::optional<std::string> idle_text(const Result& result);

// The keys of --extended.
std::vector<JsonEdit> idle_edits(const Result& result);
std::vector<std::string_view> idle_keys();

// ---- What an audit record has about metrics whose window is an estimate.

// `metric_intervals`: of the metrics that have one.
Json metric_intervals_json(const Metrics& metrics);

}  // namespace aggregate_power
