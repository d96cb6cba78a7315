// Computes again what a point's audit record says beside its metrics, if it was asked for: idle
// power, the interval of its energy, and the bounds of an estimated window.
#pragma once

#include "aggregate_power/result.h"
#include "base/text/json_value.h"
#include "publication/recompute_point.h"
#include "runs/run_options.h"

namespace aggregate_power {

// Of the options that the record says were given, as far as it has what they ask for: --uncertainty
// with its own, --idle, --window, and what was given of the load.
RunOptions recorded_extras(const JsonValue& record);

// Each value of `uncertainty`, `idle` and `metric_intervals` that differs from that of `run` is a
// fault. What cannot be computed again is a note.
void compare_extras(const Result& run, const PointEvidence& found, RecomputedPoint& result);

// The same for a point of which too little is retained.
void note_lost_extras(const PointEvidence& found, RecomputedPoint& result);

}  // namespace aggregate_power
