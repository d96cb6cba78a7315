// The energy counters that a recording has beside the power.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/integrate.h"
#include "recorders/recording.h"

namespace aggregate_power {

// Of one device, sorted by time.
struct DeviceCounter {
  std::string device;
  double unit_j = 1;                   // of one count
  std::vector<CounterSample> samples;  // at least one
};

// Reads the recording once more. Only readings in `within` are kept. Returns nothing if it has no
// counter. Throws TelemetryError, and what the source throws.
std::vector<DeviceCounter> read_counters(const Recording& recording,
                                         Window within = Analysis::kAlways);

// The counters of the GPUs of `integration` inside the window. Returns nullopt if there are none;
// never throws because of the recording. `may_use_threads` as for Passes.
std::optional<RecordedCounters> counters_in(const Recording& recording, Window window,
                                            const Integration& integration, double max_sample_gap_s,
                                            bool may_use_threads);

// What speaks against the power, or against the counters, for people.
std::vector<std::string> doubts_about(const RecordedCounters& counters);

}  // namespace aggregate_power
