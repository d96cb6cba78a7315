// The samples of one package, read once for all of its windows. For callers that ask about several
// of them, one after the other.
#pragma once

#include <cstddef>
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

class SharedSamples {
 public:
  // What `request` asks for, with what was measured over `window`; `extended` as in WindowPower.
  // The file is read only if the last one was another, or was read for other windows. Returns
  // nullopt if that does not serve `window`: it is not one of the request's, it was served before,
  // or rows are faulty, which concern one window more than another. Throws FileError.
  struct Served {
    const PackageSamples& samples;  // until the next call
    WindowPower power;
  };
  std::optional<Served> serve(const OpenedFile& file, const PackageSamplesRequest& request,
                              Window window, bool extended);

 private:
  bool has_read(const OpenedFile& file, const PackageSamplesRequest& request, bool extended) const;
  void read(const OpenedFile& file, const PackageSamplesRequest& request, bool extended);

  std::string file_;  // empty: none was read
  FileFacts facts_;
  bool extended_ = false;
  int newest_version_ = 0;
  double gap_budget_s_ = 0;
  std::size_t most_devices_ = 0;
  PackageSamples samples_;
  std::vector<std::optional<WindowPower>> powers_;  // by window; nullopt: served
};

}  // namespace aggregate_power
