// Readings that only repeat what an exporter had cached. Contract-october.md section 8, row 18.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "packages/srt_slurm/package_samples.h"

namespace aggregate_power {

// Counts how often a GPU's power is exactly that of the sample before, inside one window. The power
// of a busy GPU hardly ever is.
class StaleReadings {
 public:
  // Starts, or starts over, with this window.
  void begin(Window window);
  // Takes samples, those of each device in time order.
  void take(std::span<const PackageSample> samples);

  struct Device {
    std::uint32_t number = 0;  // of PackageSample::device
    double share = 0;          // of its samples
  };
  // The busy device with the largest share: its mean power is at least half of the largest. Returns
  // nullopt if there are no samples.
  std::optional<Device> worst() const;

 private:
  struct Count {
    double last_w = std::numeric_limits<double>::quiet_NaN();
    double sum_w = 0;
    std::uint64_t samples = 0;
    std::uint64_t repeats = 0;
    double mean_w() const { return samples == 0 ? 0 : sum_w / static_cast<double>(samples); }
  };

  Window window_;
  std::vector<Count> devices_;  // by number
};

}  // namespace aggregate_power
