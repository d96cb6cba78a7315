// Families of gauges as OpenTelemetry's protocol has them in JSON (OTLP/JSON).
#pragma once

#include <string>
#include <vector>

#include "exports/metric_families.h"

namespace aggregate_power {

// One line, as a collector's receivers take it: by HTTP at /v1/metrics, or from a file. Samples
// without a time are left out: time 0 would be 1970.
std::string otlp_json(const std::vector<GaugeFamily>& families);

}  // namespace aggregate_power
