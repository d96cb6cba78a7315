// Assesses a recording whose zone nothing states in the zone that evidence supports.
#pragma once

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

// `witnesses` are those besides the recording; without them nothing is decided.
ZonedResult assess_by_evidence(const MeasurementRequest& request, Window window,
                               Recording& recording, const Assess& assess,
                               const OtherWitnesses* witnesses, bool one_witness);

}  // namespace aggregate_power
