// Shares the energy of all GPUs among the requests of a load. Pure arithmetic: no files, no clock,
// no printing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "core/energy/fleet_power.h"

namespace aggregate_power {

// A request as it shares: its part of the power at an instant is its weight over the sum of the
// weights in flight. Weights are finite and not negative.
struct SharingRequest {
  Window in_flight;
  double first_token_s = RequestTimes::kUnknown;  // unknown: the first weight holds throughout
  double weight_before = 1;                       // before the first token
  double weight_after = 1;
};

struct SharedEnergy {
  std::vector<double> joules;  // by request
  double unattributed_j = 0;   // while nothing was in flight
};

// The joules and those unattributed sum to the energy of `power`, whatever the weights are: where
// all weights in flight are 0 the power is shared equally. Time grows with
// (knots + requests) x log(requests); memory is some 100 bytes per request.
SharedEnergy share_energy(const FleetPower& power, std::span<const SharingRequest> requests);

// ---- The failed requests' share of the fleet's energy.

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
