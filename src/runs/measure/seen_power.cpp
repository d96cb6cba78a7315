// Keeps the samples that a measurement passes by.
#include "runs/measure/seen_power.h"

#include <algorithm>
#include <iterator>

#include "core/energy/fleet_power.h"
#include "energy/shares/phases.h"

namespace aggregate_power {

void SeenPower::watch(MeasurementRequest& request, Window window) {
  window_ = window;
  margin_s_ = request.max_sample_gap_s;
  request.beside = [this](const SeriesFacts&) {
    samples_.clear({window_.start_unix_s - margin_s_, window_.end_unix_s + margin_s_});
    return Onlooker{.take = [this](const Batch& batch) { samples_.take(batch.readings); }};
  };
}

SeriesFacts SeenPower::read(const Recording& recording, Window window) {
  window_ = window;
  margin_s_ = kDefaultMaxSampleGapS;
  samples_.clear({window_.start_unix_s - margin_s_, window_.end_unix_s + margin_s_});
  const auto take = [this](const Batch& batch) { samples_.take(batch.readings); };
  const Telemetry telemetry = read_whole(recording, {.take = take, .may_use_threads = false});
  samples_.sort();
  return telemetry.facts();
}

std::optional<FleetPower> SeenPower::curve() const {
  return fleet_curve(samples_, window_, margin_s_).power;
}

std::vector<Sample> SeenPower::readings() const {
  std::vector<std::vector<Sample>> gpus;
  for (const std::vector<Sample>& device : samples_.devices()) {
    std::vector<Sample> inside;
    std::ranges::copy_if(device, std::back_inserter(inside),
                         [&](Sample sample) { return window_.contains(sample.unix_s); });
    std::ranges::stable_sort(inside, {}, &Sample::unix_s);
    if (!inside.empty()) gpus.push_back(std::move(inside));
  }
  return readings_together(gpus);
}

}  // namespace aggregate_power
