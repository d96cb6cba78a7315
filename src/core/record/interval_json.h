// What an audit record says of metrics whose window is an estimate.
#pragma once

#include "aggregate_power/metric.h"
#include "base/report/json_parts.h"

namespace aggregate_power {

// `metric_intervals`: of the metrics that have one.
Json metric_intervals_json(const Metrics& metrics);

}  // namespace aggregate_power
