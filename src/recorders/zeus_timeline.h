// Power timelines as Zeus' PowerMonitor gives them out, in JSON: by domain and GPU, or by GPU only,
// pairs of Unix seconds and watts. A pair is there only when the power changed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_zeus_timeline(std::string_view head);
Telemetry open_zeus_timeline(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> zeus_timeline_schemas();

}  // namespace aggregate_power
