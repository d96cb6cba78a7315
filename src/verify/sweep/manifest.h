// A sweep manifest of version 2: which points a sweep requires, and what is published of them.
// Contract-october.md 5.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_value.h"
#include "verify/run/verification.h"

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

// The policy that authorizes no loss.
JsonValue incremental_publication();

// The description's members in their order, then those of the manifest.
JsonValue manifest_of(JsonValue description, std::vector<JsonValue> points);

}  // namespace aggregate_power
