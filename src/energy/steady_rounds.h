// Integrates GPUs whose readings come in rounds: each GPU once, in the same order, as recorders
// that poll write them. Readings of one GPU after another are rounds too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/device_integrator.h"

namespace aggregate_power {

class SteadyRounds {
 public:
  using Integrators = std::vector<std::optional<DeviceIntegrator>>;  // by device

  explicit SteadyRounds(Window window) : window_(window) {}

  // Adds whole rounds from the front, of steady samples in order of time, to the integrators of
  // their devices. Returns the number of readings.
  std::size_t add(std::span<const Reading> readings, Integrators& integrators);

 private:
  // One device of a round.
  struct RoundLane {
    std::uint32_t device = 0;
    DeviceIntegrator::Steady steady;
  };

  bool borrow(std::span<const Reading> round, Integrators& integrators);
  std::size_t steady_rounds(std::span<const Reading> readings) const;

  Window window_;
  std::vector<RoundLane> lanes_;  // in the order of the round
};

}  // namespace aggregate_power
