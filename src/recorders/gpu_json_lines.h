// JSON lines with samples of GPUs: AIPerf's GPU telemetry and all-smi's recordings.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_aiperf_telemetry(std::string_view head);
Telemetry open_aiperf_telemetry(std::unique_ptr<ByteSource> source,
                                const TelemetryOptions& options);
std::vector<SchemaRow> aiperf_telemetry_schemas();

double fits_all_smi(std::string_view head);
Telemetry open_all_smi(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> all_smi_schemas();

}  // namespace aggregate_power
