// What the failed requests of an agentic run used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "aggregate_power/base/byte_source.h"
#include "aggregate_power/jobs/recording.h"
#include "aggregate_power/jobs/sidecar.h"
#include "aggregate_power/jobs/verdict.h"

namespace aggregate_power {

struct FailedRequestsRequest {
  std::uint64_t count = 0;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  // The profile's records once more; may throw FileError.
  std::function<std::unique_ptr<ByteSource>()> records;
};

// Of a run that was judged. Where some failed and the run is valid, telemetry and records are read
// again, since mostly none failed: the share is not known where that fails, or where some record
// does not say when it was in flight.
FailedRequests failed_requests(const FailedRequestsRequest& request, const Recording& recording,
                               const Verdict& verdict);

}  // namespace aggregate_power
