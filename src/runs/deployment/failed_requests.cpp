// Computes the energy share of an agentic run's failed requests.
#include "runs/deployment/failed_requests.h"

#include <exception>
#include <optional>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/path.h"
#include "energy/shares/request_share.h"
#include "generators/aiperf_folder.h"
#include "generators/aiperf_records.h"
#include "core/load/benchmark_outcome.h"

namespace aggregate_power {
namespace {

// Returns nullopt if some request does not say when it was in flight, or if none was in the window,
// because then the window's zone is wrong.
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

std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir) {
  const std::string profile = path_below(result_dir, std::string(kProfileFolder));
  const auto records = find_records(*tree, profile);
  if (!records) return std::nullopt;
  FailedRequestsRequest request;
  request.name = path_below(profile, *records);
  request.records = [file = tree->open(request.name)] {
    return decompressed(file.source(), file.name());
  };
  const std::unique_ptr<ByteSource> source = request.records();
  std::int64_t completed = 0;
  std::uint64_t cancelled = 0;
  read_profile_records({*source, request.name}, [&](const ProfileRecord& record) {
    if (!record.is_profiling) return;
    record.failed ? ++request.count : static_cast<std::uint64_t>(++completed);
    if (record.failed && record.cancelled) ++cancelled;
  });
  request.failure = failure_by_counts(request.count - cancelled, completed);
  return request;
}

std::optional<FailedRequestsRequest> failed_requests_in(const std::shared_ptr<const Tree>& tree,
                                                        const std::string& result_dir,
                                                        std::vector<std::string>& warnings) {
  try {
    return failed_requests_in(tree, result_dir);
  } catch (const std::exception& error) {
    warnings.push_back(fmt::format("failed requests are not known: {}", error.what()));
    return std::nullopt;
  }
}

FailedRequests failed_requests(const FailedRequestsRequest& request, const Result& result,
                               const std::optional<FleetPower>& power) {
  FailedRequests failed{request.count, std::nullopt};
  if (!result.reasons.empty()) return failed;
  if (request.count == 0) {
    failed.energy_share_j = 0;
    return failed;
  }
  try {
    std::optional<FailedShare> share = share_of(*request.records(), result.load->window);
    if (share && power) failed.energy_share_j = share->energy_j(*power);
  } catch (const std::exception&) {  // changed meanwhile
  }
  return failed;
}

}  // namespace aggregate_power
