// Assesses a recording in the zone that is stated, else in the one that evidence supports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "aggregate_power/result.h"
#include "energy/zone_witnesses.h"
#include "recorders/recording.h"
#include "runs/measurement.h"

namespace aggregate_power {

struct ZonedResult {
  Result result;
  // What the recording says about its zone; nullopt if its zone does not matter.
  std::optional<ZoneFinding> finding = {};
  std::optional<ZoneReport> report = {};  // about the zone that was decided
  bool has_zone = true;                   // false: the reason is timezone_ambiguous
};

// Reads the recording again, in the zone that it has at that time.
using Assess = std::function<Result(const MeasurementRequest& request)>;

// `witnesses` are those besides the recording; without them, a zone that nothing states is not
// decided. `window` is the load's; without one, there is nothing to find a zone by.
ZonedResult assess_zoned(const MeasurementRequest& request, const std::optional<Window>& window,
                         Recording& recording, const Assess& assess,
                         const OtherWitnesses* witnesses);

// When a recording was written. Returns nullopt if it was copied together with the result of its
// run: both then have the time of the copy.
std::optional<std::int64_t> own_time_ns(std::optional<std::int64_t> recording_ns,
                                        std::optional<std::int64_t> result_ns);

}  // namespace aggregate_power
