// Counts repeated readings.
#include "packages/srt_slurm/stale_readings.h"

#include <algorithm>

namespace aggregate_power {

void StaleReadings::begin(Window window) {
  window_ = window;
  devices_.clear();
}

void StaleReadings::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    if (!window_.contains(sample.unix_s)) continue;
    if (sample.device >= devices_.size()) devices_.resize(sample.device + 1);
    Count& count = devices_[sample.device];
    if (sample.watts == count.last_w) ++count.repeats;
    count.last_w = sample.watts;
    count.sum_w += sample.watts;
    ++count.samples;
  }
}

std::optional<StaleReadings::Device> StaleReadings::worst() const {
  const auto largest = std::ranges::max_element(devices_, {}, &Count::mean_w);
  if (largest == devices_.end()) return std::nullopt;
  Device worst;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const Count& count = devices_[i];
    if (count.samples < 2 || count.mean_w() < largest->mean_w() / 2) continue;
    const double share =
        static_cast<double>(count.repeats) / static_cast<double>(count.samples - 1);
    if (share > worst.share) worst = {i, share};
  }
  return worst;
}

}  // namespace aggregate_power
