// The tables that nvidia-smi dmon and dcgmi dmon print, where their lines have times: dmon -o DT
// prints them, and dcgmi's are put before its lines by whoever records them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_nvidia_dmon(std::string_view head);
Telemetry open_nvidia_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> nvidia_dmon_schemas();

double fits_dcgmi_dmon(std::string_view head);
Telemetry open_dcgmi_dmon(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> dcgmi_dmon_schemas();

}  // namespace aggregate_power
