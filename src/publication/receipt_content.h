// What the archives of a receipt must say of its points; contract-october.md 5.4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_value.h"
#include "publication/point_faults.h"

namespace aggregate_power {

// `point` and `receipt` come from shaped_receipt().

// The evidence of the execution that a point names.
void check_execution(const JsonValue& receipt, const JsonValue& point, const JsonValue& execution,
                     PointFaults& faults);

// The only row of the normalized result with the point's concurrency, and its task; null: there is
// not exactly one, which is a fault.
const JsonValue* normalized_row(const JsonValue& point, const JsonValue& normalized,
                                PointFaults& faults);
void check_row(const JsonValue& point, const JsonValue& row, PointFaults& faults);

// The samples of an evaluation, one JSON object for each line, in pieces.
class EvaluationSamples {
 public:
  explicit EvaluationSamples(const JsonValue& point);

  void take(std::string_view piece);  // an empty one is the end
  // Coverage and score, after the end. `row` may be null; then only the coverage counts.
  void check(const JsonValue* row, PointFaults& faults) const;

 private:
  void take_line(std::string_view line);
  std::string fault_of(const JsonValue& sample);

  const JsonValue& point_;
  std::string task_;
  std::vector<std::string> filters_;
  std::uint64_t documents_ = 0;
  std::string line_;
  std::uint64_t lines_ = 0;
  std::vector<bool> met_;  // by document and filter
  std::uint64_t observed_ = 0;
  std::uint64_t strict_passed_ = 0;
  std::string fault_;  // the first one
};

}  // namespace aggregate_power
