// The samples of a window and its surroundings, and what was said about the GPUs meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "energy/shares/cooling.h"
#include "energy/uncertainty/estimate.h"

namespace aggregate_power {

// One GPU's, in time order.
struct GatheredReadings {
  std::string gpu;
  std::vector<Sample> samples;
  GpuConditions conditions;                // inside the window
  std::vector<double> limits_w = {};       // of power, in force there: each once, at most two
  bool are_whole_seconds = false;          // all stamps, as recorded
  std::vector<double> blanks_unix_s = {};  // stamps of rows inside it without a reading, in order
};

// What is before and after the window shows the load's edges.
inline constexpr double kGatheredAroundS = 60;
inline Window gathered_around(Window window) {
  return {window.start_unix_s - kGatheredAroundS, window.end_unix_s + kGatheredAroundS};
}

// What the rows inside a window say of their GPUs.
class StateNotes {
 public:
  explicit StateNotes(Window window)
      : window_(window), around_{window.start_unix_s - 60, window.end_unix_s + 900} {}

  static constexpr GpuQuantitySet wanted() {
    return quantity_set({GpuQuantity::power_limit_w, GpuQuantity::clock_reasons,
                         GpuQuantity::utilization_pct, GpuQuantity::temperature_c,
                         GpuQuantity::clock_mhz});
  }
  // The next rows of the recording.
  void take(const Batch& batch);
  // Sets what is known of the GPU with this Reading::device.
  void give(std::size_t device, GatheredReadings& gpu) const;

 private:
  // Of the rows in each half of the window.
  struct HalfMeans {
    double sums[2] = {};
    double counts[2] = {};

    void take(double value, bool is_second);
    bool are_known() const;
    double mean(std::size_t half) const { return sums[half] / counts[half]; }
    double change() const { return mean(1) - mean(0); }
  };
  struct Device {
    std::vector<double> limits_w;  // each once
    std::uint64_t reasoned = 0;    // rows that state why clocks are held back
    std::uint64_t capped = 0;
    std::uint64_t throttled = 0;
    double least_utilization_pct = std::numeric_limits<double>::infinity();  // infinity: unknown
    HalfMeans temperature_c = {};
    HalfMeans utilization_pct = {};
    HalfMeans clock_mhz = {};
    std::vector<Temperature> temperatures = {};  // one a second, also around the window
  };
  void note(const GpuState& state, double unix_s, Device& device) const;
  std::optional<GpuConditions::HalfChange> halves_of(const Device& device) const;

  Window window_;
  Window around_;  // where temperatures say how GPUs cool down
  std::vector<Device> devices_;
};

// Of the GPUs that have samples around the window, in the order of `names`. `samples` are in time
// order, and of any stretch around it; `clock_offset_s` was added to their stamps.
std::vector<GatheredReadings> gather(Window window, Samples samples, const StateNotes& notes,
                                     std::span<const std::string> names, double clock_offset_s = 0);

}  // namespace aggregate_power
