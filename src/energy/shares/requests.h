// Shares the energy of all GPUs among the requests of a load. Pure arithmetic: no files, no clock,
// no printing.
#pragma once

#include <span>
#include <vector>

#include "aggregate_power/fleet_power.h"
#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"

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

}  // namespace aggregate_power
