// The CSV of older versions of Grafana, "Series;Time;Value": one row for each sample.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_grafana_rows(std::string_view head);
Telemetry open_grafana_rows(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> grafana_rows_schemas();

}  // namespace aggregate_power
