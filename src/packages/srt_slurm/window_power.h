// Computes energy and power over the wanted window from the samples of a package.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "core/energy/fleet_power.h"
#include "core/energy/gpu_state_mean.h"
#include "core/energy/integrate.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {

class WindowPower {
 public:
  // Samples farther from the window matter only if they are the nearest ones of their device.
  static constexpr double kMarginS = 10;

  // `with_fleet`: the total power of all GPUs at every instant; `extended`: their utilization too.
  WindowPower(bool with_fleet, bool extended) : with_fleet_(with_fleet), extended_(extended) {}

  // Starts, or starts over, with this window.
  void begin(Window window);
  // Takes samples, those of each device in time order.
  void take(std::span<const PackageSample> samples);

  // To be called exactly once for a device.
  DeviceEnergy energy(std::uint32_t device);
  // What was requested; empty if no window was found. `devices` are names by number.
  FleetMeasurement fleet(std::span<const std::string> devices);

 private:
  // The samples of a device that bracket the window, however far from it they are.
  struct Outside {
    std::vector<Sample> before;  // the last one so far; several if they share a stamp
    std::optional<double> after_unix_s;
  };

  void add_to_fleet(const PackageSample& sample);
  void take_states(std::span<const PackageSample> samples);

  bool with_fleet_;
  bool extended_;
  Window window_;
  std::vector<DeviceIntegrator> integrators_;  // by device
  // By device: what the window's power depends on.
  std::optional<std::vector<std::vector<Sample>>> fleet_;
  std::vector<Outside> outside_;  // by device
  std::optional<StateMean> utilization_;
  std::optional<StateMean> temperature_;
  std::vector<Reading> readings_;
};

}  // namespace aggregate_power
