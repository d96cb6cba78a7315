// The failed requests' share of the fleet's energy.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/fleet_power.h"

namespace aggregate_power {

// At each instant the power is shared equally by the requests in flight. 32 bytes per request.
class FailedShare {
 public:
  // `in_flight` may have length zero.
  void add(Window in_flight, bool failed);

  // Joules within the window of `power`.
  double energy_j(const FleetPower& power);

 private:
  struct Change {
    double unix_s;
    std::int8_t in_flight;  // change in the number of requests
    std::int8_t failed;     // change in the number of those that will fail
  };
  std::vector<Change> changes_;
};

}  // namespace aggregate_power
