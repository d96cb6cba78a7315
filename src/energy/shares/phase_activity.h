// How many requests were in which phase, for any stretch of time. Pure arithmetic: no files, no
// clock, no printing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// Seconds of a stretch, times requests where they are counted.
struct Activity {
  double prefills = 0;  // requests between sending and first token
  double decodes = 0;   // requests behind it
  // The states of a server that serves one prefill at a time.
  double idle_s = 0;
  double prefill_s = 0;        // while any request waits for its first token
  double decode_s = 0;         // while none does, and some decode
  double further_decodes = 0;  // all but the first, in the state decode

  Activity& operator+=(const Activity& other);
  Activity operator-(const Activity& other) const;
  Activity operator/(double divisor) const;
};

class PhaseActivity {
 public:
  // Requests without times are left out; one without a first token waits to its end.
  explicit PhaseActivity(std::span<const RequestTimes> requests);

  // Where a search ended, for one of a later instant.
  struct Place {
    std::size_t next = 0;
  };
  // From a fixed instant on. All instants of one place are in time order; then each takes time that
  // grows with the logarithm of the starts and ends since the one before.
  Activity until(double unix_s, Place& place) const;
  Activity in(Window window) const {
    Place place;
    const Activity before = until(window.start_unix_s, place);
    return until(window.end_unix_s, place) - before;
  }

 private:
  struct Stretch {
    double start_unix_s;
    std::int32_t prefills;
    std::int32_t decodes;
    Activity before;  // from the first stretch's start on
  };
  static Activity of(const Stretch& stretch, double seconds);

  std::vector<Stretch> stretches_;  // in time order; the first and the last are idle
};

}  // namespace aggregate_power
