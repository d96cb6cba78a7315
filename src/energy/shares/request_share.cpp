// Shares the fleet's power among the requests in flight.
#include "energy/shares/request_share.h"

#include <algorithm>

namespace aggregate_power {

void FailedShare::add(Window in_flight, bool failed) {
  const auto one = static_cast<std::int8_t>(failed ? 1 : 0);
  changes_.push_back({in_flight.start_unix_s, 1, one});
  changes_.push_back({in_flight.end_unix_s, -1, static_cast<std::int8_t>(-one)});
}

double FailedShare::energy_j(const FleetPower& power) {
  std::ranges::sort(changes_, {}, &Change::unix_s);
  double joules = 0;
  std::int64_t in_flight = 0;
  std::int64_t failed = 0;
  for (std::size_t i = 0; i + 1 < changes_.size(); ++i) {
    in_flight += changes_[i].in_flight;
    failed += changes_[i].failed;
    // Among changes at one instant an end may come before its start; no time passes between them.
    if (failed <= 0 || in_flight <= 0) continue;
    joules += power.energy_j(changes_[i].unix_s, changes_[i + 1].unix_s) *
              static_cast<double>(failed) / static_cast<double>(in_flight);
  }
  return joules;
}

}  // namespace aggregate_power
