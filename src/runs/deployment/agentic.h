// The energy used by the failed requests of an agentic run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregate_power/result.h"
#include "base/files/tree.h"
#include "base/system/byte_source.h"

namespace aggregate_power {

struct FailedRequestsRequest {
  std::uint64_t count = 0;
  std::string failure = {};  // why the benchmark counts as failed; empty: it does not
  std::string name;          // the records' name
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

// For a run that was measured. If it is valid and some requests failed, `power` is of its GPUs
// in its window, and the records are read a second time. The share is unknown if there is no power,
// if that reading fails, or if some record does not say when it was in flight.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Result& result,
                               const std::optional<FleetPower>& power);

}  // namespace aggregate_power
