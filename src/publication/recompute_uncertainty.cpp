// Compares intervals value by value.
#include "publication/recompute_uncertainty.h"

#include <optional>

#include <fmt/format.h>

#include "base/text/python_number.h"
#include "publication/compare_records.h"
#include "results/uncertainty_json.h"

namespace aggregate_power {

UncertaintyOptions recorded_uncertainty(const JsonValue& record) {
  const JsonValue& options = record.at("computed_from").at("options");
  const auto number = [&](const char* key) { return python_float(options.at(key).text); };
  return {record.find("uncertainty") != nullptr, options.at("gpu").text, number("sensor_accuracy"),
          number("clock_uncertainty_s")};
}

void compare_uncertainty(const Result& run, const JsonValue& record, RecomputedPoint& result) {
  if (!run.uncertainty || !run.is_valid()) return;  // not valid: that is a fault of its own
  const JsonValue computed = parse_json(uncertainty_json(run, true).dump());
  for (const RecordDifference& difference :
       compare_values(&computed, record.find("uncertainty"), "uncertainty")) {
    result.faults.push_back(
        {fmt::format("'{}' of the audit record, against its telemetry", difference.key),
         difference.expected, difference.found});
  }
}

}  // namespace aggregate_power
