// The power limits that rows state of their GPUs, beside their power. Pure arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// Whether a reading is more than twice the limit in its own row. False for what states no limit.
bool is_above_limit(const Reading& reading, const GpuState& state);

// Compares each reading inside a window with the limit in its own row. contract.md part 0 row 31.
class StatedLimits {
 public:
  explicit StatedLimits(Window window) : window_(window) {}

  static constexpr GpuQuantitySet wanted() { return quantity_set({GpuQuantity::power_limit_w}); }
  // The next rows of the recording, with their states.
  void take(const Batch& batch);

  struct Device {
    std::uint64_t rows = 0;   // that state a limit
    double limits_w = 0;      // their sum
    std::uint64_t above = 0;  // rows whose power is more than twice their limit
    Sample first = {};        // of these
    double first_limit_w = 0;
    std::vector<double> different_w = {};  // the first few limits, each once
    std::uint64_t at_limit = 0;            // rows whose power is at their limit

    double mean_limit_w() const { return limits_w / static_cast<double>(rows); }
  };
  // By Reading::device.
  Device of(std::size_t device) const {
    return device < devices_.size() ? devices_[device] : Device();
  }
  // Of the devices that state one; `names` are by Reading::device.
  std::vector<GpuLimit> in_force(std::span<const std::string> names) const;

 private:
  Window window_;
  std::vector<Device> devices_;
};

// A quantity that rows inside a window state, by Reading::device. NaN: they state none.
class StatedValues {
 public:
  StatedValues(Window window, GpuQuantity quantity) : window_(window), quantity_(quantity) {}

  GpuQuantitySet wanted() const { return quantity_set({quantity_}); }
  void take(const Batch& batch);
  double mean(std::size_t device) const;
  double highest(std::size_t device) const;

 private:
  struct Device {
    std::uint64_t rows = 0;
    double sum = 0;
    double highest = 0;
  };
  Window window_;
  GpuQuantity quantity_;
  std::vector<Device> devices_;
};

}  // namespace aggregate_power
