// The audit record of a package as JSON. Keys and their order are contract.md C.8's.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/reason.h"
#include "packages/check.h"
#include "results/record.h"

namespace aggregate_power {

struct PackageRecord {
  std::string telemetry_source;  // the package's folder
  std::string benchmark_result;
  std::string expected_producer_sha;  // empty: nobody said
  bool is_pin_of_package = false;     // power-producer-sha.txt said so, not the caller
  bool salvage = false;
  std::string window_source;  // where the window was taken from; empty: a benchmark result
  std::optional<FailedRequests> failed_requests;  // of agents
  std::optional<Origin> origin;                   // of runs in bulk
};

// `more` is what is wrong beside the verdict: with the aggregate.
std::string package_record_text(const PackageVerdict& verdict, const PackageRecord& record,
                                const Reasons& more);

}  // namespace aggregate_power
