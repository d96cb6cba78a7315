// A sweep manifest of version 2: which points a sweep requires, and what is published of them.
// Contract-october.md 5.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "verify/run/verify_runs.h"

namespace aggregate_power {

inline constexpr std::int64_t kSweepSchemaVersion = 2;

// A row of the matrix at one concurrency, whose power is required.
struct RequiredPoint {
  const JsonValue* row = nullptr;  // in the sweep
  JsonValue concurrency;
  bool is_multinode = false;

  std::string config_key() const { return row->at("exp-name").text; }
  std::string label() const;  // "golden conc 1"
  bool is_disaggregated() const { return row->at("disagg").is_true(); }
  bool is_agentic() const { return row->at("scenario-type").text == "agentic-coding"; }
};

// Who ran the sweep, as the caller knows it.
struct ExpectedRun {
  std::optional<std::int64_t> run_id;
  std::string head;                         // empty: not given
  std::optional<std::int64_t> run_attempt;  // the last one that is accepted
};

// What is wrong with the sweep itself, before any file of its points is looked at: who ran it, its
// matrix and its policy. `name` is that of its file. `sweep` must outlive the points.
struct SweepReading {
  std::vector<RequiredPoint> points;
  std::vector<PublicationFault> faults;
};
SweepReading read_sweep(const JsonValue& sweep, const std::string& name);
std::vector<PublicationFault> run_faults(const JsonValue& sweep, const std::string& name,
                                         const ExpectedRun& expected);
std::vector<PublicationFault> publication_faults(const JsonValue& publication,
                                                 const std::string& name);

// The description's members in their order, then those of the manifest.
JsonValue manifest_of(JsonValue description, std::vector<JsonValue> points);

// ---- Writes JSON values in the two forms that publications have.

// The canonical bytes of a receipt, contract-october.md 5.4: keys sorted, no blanks, UTF-8 as it
// is. Throws Error for a number that is not an integer, and for text that is not UTF-8. (The
// canonical form that ties a result to its package, contract.md C.6, escapes and is another.)
std::string receipt_bytes(const JsonValue& value);

// As json.dumps(value, indent=2) writes it: ASCII, numbers as Python prints them, a line break at
// the end. Throws Error for NaN and the infinities.
std::string indented_json(const JsonValue& value);

}  // namespace aggregate_power
