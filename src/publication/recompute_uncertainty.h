// Computes the interval of a point's energy again, if its audit record has one.
#pragma once

#include "aggregate_power/result.h"
#include "base/text/json_value.h"
#include "publication/recompute_point.h"

namespace aggregate_power {

// As the record was asked for; not wanted if it has no interval.
UncertaintyOptions recorded_uncertainty(const JsonValue& record);

// Each value of the record's `uncertainty` that differs from that of `run` is a fault.
void compare_uncertainty(const Result& run, const JsonValue& record, RecomputedPoint& result);

}  // namespace aggregate_power
