// What the failed requests of an agentic run used.
#include "aggregate_power/jobs/failed_requests.h"

#include <exception>
#include <optional>
#include <span>

#include "aggregate_power/analysis/fleet_power.h"
#include "aggregate_power/analysis/request_share.h"
#include "aggregate_power/inputs/profile_records.h"

namespace aggregate_power {
namespace {

// Nothing where some request does not say when it was in flight, or none was in the window: then
// the window's zone is wrong.
std::optional<FailedShare> share_of(ByteSource& records, Window window) {
  FailedShare share;
  bool is_known = true;
  bool is_in_window = false;
  read_profile_records({records, {}}, [&](const ProfileRecord& record) {
    is_known = is_known && record.in_flight.has_value();
    if (!is_known) return;
    share.add(*record.in_flight, record.is_profiling && record.failed);
    is_in_window |= record.in_flight->end_unix_s > window.start_unix_s &&
                    record.in_flight->start_unix_s < window.end_unix_s;
  });
  return is_known && is_in_window ? std::optional(std::move(share)) : std::nullopt;
}

}  // namespace

FailedRequests failed_requests(const FailedRequestsRequest& request, const Recording& recording,
                               const Verdict& verdict) {
  FailedRequests failed{request.count, std::nullopt};
  if (!verdict.reasons.empty()) return failed;
  if (request.count == 0) {
    failed.energy_share_j = 0;
    return failed;
  }
  try {
    std::optional<FailedShare> share = share_of(*request.records(), verdict.benchmark->window);
    if (!share) return failed;
    FleetPowerGatherer gatherer(verdict.benchmark->window, request.max_sample_gap_s);
    recording.open().read([&](std::span<const Reading> readings) { gatherer.take(readings); });
    const std::optional<FleetPower> power = gatherer.finish();
    if (power) failed.energy_share_j = share->energy_j(*power);
  } catch (const std::exception&) {  // changed meanwhile
  }
  return failed;
}

}  // namespace aggregate_power
