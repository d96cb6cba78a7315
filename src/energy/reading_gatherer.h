// Keeps the readings of a window and its surroundings, and what was said of the GPUs meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/energy_estimate.h"

namespace aggregate_power {

// One GPU's, in time order.
struct GatheredReadings {
  std::string gpu;
  std::vector<Sample> samples;
  GpuConditions conditions;           // inside the window
  std::vector<double> limits_w = {};  // of power, in force there: each once, at most two
  bool are_whole_seconds = false;     // all stamps, as recorded
};

// Keeps 16 bytes a reading.
class ReadingGatherer final : public Analysis {
 public:
  // What is before and after the window shows the load's edges.
  static constexpr double kAroundS = 60;

  explicit ReadingGatherer(Window window) : window_(window) {}

  Wants wants() const override {
    return {.states = quantity_set({GpuQuantity::power_limit_w, GpuQuantity::clock_reasons,
                                    GpuQuantity::utilization_pct})};
  }
  std::span<const Reading> select(const Batch& batch) override;
  void take(std::span<const Reading>) override {}

  // Of the GPUs that have readings, in the order of `devices`, their names by Reading::device.
  std::vector<GatheredReadings> finish(std::span<const std::string> devices);

 private:
  // Counts of rows inside the window.
  struct Device {
    std::vector<Sample> samples;
    bool is_sorted = true;
    bool are_whole_seconds = true;  // all stamps
    std::vector<double> limits_w;   // each once
    std::uint64_t reasoned = 0;     // that state why clocks are held back
    std::uint64_t capped = 0;
    std::uint64_t throttled = 0;
    double least_utilization_pct = std::numeric_limits<double>::infinity();  // infinity: unknown
  };
  // Every `step`th row of a batch, from `first` on; all are of one device.
  struct DeviceRows {
    std::size_t first;
    std::size_t end;
    std::size_t step;
  };
  void gather(const Batch& batch, DeviceRows rows);
  // What the rows inside the window say, which all are if `are_inside`.
  void note_states(const Batch& batch, DeviceRows rows, bool are_inside, Device& device) const;
  // What so many rows inside the window say.
  static void note(const GpuState& state, std::uint64_t rows, Device& device);

  Window window_;
  std::vector<Device> devices_;
};

}  // namespace aggregate_power
