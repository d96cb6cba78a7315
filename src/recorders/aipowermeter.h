// AIPowerMeter's power_metrics.json: JSON lines, one record each, in segments.
//
// Two generations of keys: nvidia_draw_absolute with per_gpu_power_draw (2021 to 2024), and
// nvidia_power (2026). A line "END OF RECORDING SEGMENT" divides segments, which are never joined.
// -1 means that there is no such sensor.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_aipowermeter(std::string_view head);
Telemetry open_aipowermeter(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> aipowermeter_schemas();

}  // namespace aggregate_power
