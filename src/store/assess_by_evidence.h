// A recording whose zone nothing states, assessed with a load in the zone that evidence speaks for.
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
  // What the recording says of its zone; nothing, where no zone matters to it.
  std::optional<ZoneFinding> finding = {};
  std::optional<ZoneReport> report = {};  // of the zone that was decided
  bool has_zone = true;                   // else the reason is timezone_ambiguous
};

// Reads the recording anew, in the zone that it has then.
using Assess = std::function<Result(const MeasurementRequest& request)>;

// `witnesses` are those besides the recording; without them nothing is decided.
ZonedResult assess_by_evidence(const MeasurementRequest& request, Window window,
                               Recording& recording, const Assess& assess,
                               const OtherWitnesses* witnesses, bool one_witness);

}  // namespace aggregate_power
