// Adds the results of recordings.
#include "runs/several_recordings.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "energy/metrics.h"

namespace aggregate_power {

void add_recording(Result& sum, Result other) {
  const auto energy = [](const Result& result) {
    return value_of(result.metrics, "total_gpu_energy_j").value_or(0);
  };
  sum.reasons.add(other.reasons);
  for (const std::string& id : other.observed_gpu_ids) {
    const bool is_known = std::ranges::find(sum.observed_gpu_ids, id) != sum.observed_gpu_ids.end();
    // A host's name and a number are as good as a UUID; a number alone may be that of another node.
    const bool is_unique = id.starts_with("GPU-") || id.find('/') != std::string::npos;
    if (is_known && is_unique) sum.reasons.add(Reason::gpu_uuid_repeated, id);
  }
  sum.observed_gpus += other.observed_gpus;
  const std::size_t gpus = sum.metric_gpus + other.metric_gpus;
  for (std::string& id : other.observed_gpu_ids) sum.observed_gpu_ids.push_back(std::move(id));
  std::ranges::move(other.warnings, std::back_inserter(sum.warnings));
  std::ranges::move(other.hints, std::back_inserter(sum.hints));
  sum.telemetry_source += ", " + other.telemetry_source;
  const double total_j = energy(sum) + energy(other);
  sum.metric_gpus = gpus;
  sum.metrics =
      sum.is_valid()
          ? energy_metrics(
                {.energy_j = total_j, .gpus = gpus, .load = *sum.load, .contract = sum.contract})
          : Metrics();
}

void refuse_copy(const Recording& first, const Recording& other) {
  const bool is_copy = other.faults().empty() && first.faults().empty() &&
                       other.bytes() == first.bytes() &&
                       other.content_hash() == first.content_hash();
  if (!is_copy) return;
  throw Error(fmt::format("{} is a copy of {}: give it once", printable_path(other.path()),
                          printable_path(first.path())));
}

}  // namespace aggregate_power
