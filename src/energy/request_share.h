// What part of the fleet's energy failed requests had.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/fleet_power.h"

namespace aggregate_power {

// The power of each instant is shared equally by the requests in flight then. 32 bytes a request.
class FailedShare {
 public:
  // `in_flight` may be of no length.
  void add(Window in_flight, bool failed);

  // Joules, of what lies in the window of `power`.
  double energy_j(const FleetPower& power);

 private:
  struct Change {
    double unix_s;
    std::int8_t in_flight;  // so many more requests from then on
    std::int8_t failed;     // and so many of them are to fail
  };
  std::vector<Change> changes_;
};

}  // namespace aggregate_power
