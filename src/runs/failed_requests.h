// What the failed requests of an agentic run used.
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
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  std::string name;  // of the records
  // The profile's records once more; may throw FileError.
  std::function<std::unique_ptr<ByteSource>()> records;
};

// Of the profile in a result folder; nothing where there is none. Reads all records once: throws
// Error or FileError when they cannot be read.
std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir);

// Of a run that was judged. Where some failed and the run is valid, telemetry and records are read
// again, since mostly none failed: the share is not known where that fails, or where some record
// does not say when it was in flight.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Recording& recording,
                               const Result& result);
// Of a package that was judged with its power.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Result& package);

}  // namespace aggregate_power
