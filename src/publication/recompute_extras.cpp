// Compares values one by one.
#include "publication/recompute_extras.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "publication/compare_records.h"
#include "publication/run_record.h"
#include "results/idle_json.h"
#include "results/interval_json.h"
#include "results/uncertainty_json.h"
#include "runs/option_codec.h"

namespace aggregate_power {
namespace {

constexpr const char* kExtras[] = {"uncertainty", "idle", "metric_intervals"};

// `computed` is null if the run has none.
void compare_extra(const Json& computed, const std::string& key, const PointEvidence& found,
                   RecomputedPoint& result) {
  const JsonValue* const recorded = found.record.find(key);
  if (computed.is_null() && recorded != nullptr) {
    result.notes.push_back(
        fmt::format("{}: '{}' could not be computed again", found.record_path, key));
  }
  if (computed.is_null()) return;
  const JsonValue expected = parse_json(computed.dump());
  for (const RecordDifference& difference : compare_values(&expected, recorded, key)) {
    result.faults.push_back(
        {fmt::format("'{}' of the audit record, against its telemetry", difference.key),
         difference.expected, difference.found});
  }
}

}  // namespace

RunOptions recorded_extras(const JsonValue& record) {
  RunSpec given;
  set_recorded_options(recorded_options(record), given);
  RunOptions extras;
  extras.uncertainty = given.uncertainty;
  extras.uncertainty.is_wanted = record.find("uncertainty") != nullptr;
  if (record.find("idle") != nullptr) extras.idle = given.idle;
  extras.accepted_window = given.accepted_window;
  extras.given = given.given;
  extras.select = given.select;
  return extras;
}

void note_lost_extras(const PointEvidence& found, RecomputedPoint& result) {
  for (const char* const key : kExtras) compare_extra({}, key, found, result);
}

void compare_extras(const Result& run, const PointEvidence& found, RecomputedPoint& result) {
  if (!run.is_valid()) return;  // that is a fault of its own
  const bool has_intervals = std::ranges::any_of(
      run.metrics, [](const Metric& metric) { return metric.interval.has_value(); });
  compare_extra(run.uncertainty ? uncertainty_json(run, true) : Json(), "uncertainty", found,
                result);
  compare_extra(run.idle ? idle_json(run, true) : Json(), "idle", found, result);
  compare_extra(has_intervals ? metric_intervals_json(run.metrics) : Json(), "metric_intervals",
                found, result);
}

}  // namespace aggregate_power
