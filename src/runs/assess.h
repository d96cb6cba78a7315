// What the telemetry and the benchmark result of a run come to: metrics, or the reasons against
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "base/text/json.h"
#include "loads/benchmark.h"
#include "recorders/recording.h"
#include "results/record.h"
#include "runs/measurement.h"

namespace aggregate_power {

struct Verdict {
  std::optional<Load> load;
  Measurement measurement;
  Reasons reasons;  // empty: valid
  Metrics metrics;
  std::vector<std::string> warnings;  // for people
};

Verdict judge(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading);

// Why a mean power per GPU can hardly be true, for people; nothing where it can.
std::optional<std::string> doubt_about(double mean_w);

// The verdict, and the metrics or nothing in their place; contract.md B.6.
std::vector<JsonEdit> schema_2_edits(bool valid, const Metrics& metrics);
// What the verdict changes in the aggregate (contract.md B.6; under schema 1, A.8).
std::vector<JsonEdit> verdict_edits(const Verdict& verdict, int schema_version);
// The same under schema 2 with --extended. `source` is the audit record's name.
std::vector<JsonEdit> dashboard_verdict_edits(const Verdict& verdict, const std::string& source);
// The same when there is no audit record to show for it.
std::vector<JsonEdit> unaudited_edits(int schema_version);

// What is said of a valid run under schema 2; contract.md B.9.
std::string schema_2_line(const Verdict& verdict, const std::string& aggregate);

// Whether a member of an aggregate is one that a verdict may set or remove.
bool is_our_key(std::string_view key);

// What of it the audit record says; the names of the files are still missing.
RecordContent record_content(const Verdict& verdict, int schema_version);

}  // namespace aggregate_power
