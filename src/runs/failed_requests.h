// The energy used by the failed requests of an agentic run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregate_power/result.h"
#include "base/files/byte_source.h"
#include "base/files/tree.h"
#include "packages/windows.h"
#include "recorders/recording.h"

namespace aggregate_power {

struct FailedRequestsRequest {
  std::uint64_t count = 0;
  std::string failure = {};  // why the benchmark counts as failed; empty: it does not
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  std::string name;  // the records' name
  // Opens the profile's records again; may throw FileError.
  std::function<std::unique_ptr<ByteSource>()> records;
};

// Looks at the profile in a result folder. Returns nullopt if there is none. Reads all records
// once, and throws Error or FileError if they cannot be read.
std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir);

// The same; if they cannot be read, that is a warning.
std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir,
                                                        std::vector<std::string>& warnings);

// For a run that was already measured. If it is valid and some requests failed, telemetry and
// records are read a second time; usually no request failed. The share is unknown if that reading
// fails, or if some record does not say when it was in flight.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Recording& recording,
                               const Result& result);
// For a package that was checked and has its power.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Result& package);

}  // namespace aggregate_power
