// One run of a package: checks, records, patches and reports it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "packages/srt_slurm/check.h"
#include "runs/deployment/agentic.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/deliver.h"

namespace aggregate_power {

struct PackageRun {
  PackageQuestion question;                              // the result that it names is opened here
  std::optional<FailedRequestsRequest> failed_requests;  // agentic runs only
  std::string window_source;                             // for the record; empty: a benchmark
                                                         // result
  std::string audit_source;                              // for power_audit; empty: the record
  bool is_audit_requested = false;                       // by the caller, with that source
  // Where the two files go, and inputs other than the package and the result.
  WritePlan target;
  std::vector<RecordedOption> options;
  RunOptions asked;
  std::vector<std::string> warnings;
};

// Evaluates the run of a package: checks it, and adds the extras. `hardware` is what the aggregate
// calls the GPUs; empty: nothing.
Result evaluate_package(const RunOptions& run, const std::string& hardware,
                        PackageQuestion question);

// The question that the options ask, without the result.
PackageQuestion package_question(const RunSpec& run);

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput deliver_package(PackageRun run);

}  // namespace aggregate_power
