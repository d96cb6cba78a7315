// CSVs with a column of power for each GPU, whose name says which: those of EnergiBridge, and those
// that Grafana writes of series joined by time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_energibridge(std::string_view head);
Telemetry open_energibridge(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> energibridge_schemas();

double fits_grafana_wide(std::string_view head);
Telemetry open_grafana_wide(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> grafana_wide_schemas();

}  // namespace aggregate_power
