// Series as Prometheus and VictoriaMetrics give them out: the answer to query_range (a matrix), and
// the lines of /api/v1/export.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_prometheus_matrix(std::string_view head);
Telemetry open_prometheus_matrix(std::unique_ptr<ByteSource> source,
                                 const TelemetryOptions& options);
std::vector<SchemaRow> prometheus_matrix_schemas();

double fits_victoria_export(std::string_view head);
Telemetry open_victoria_export(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> victoria_export_schemas();

}  // namespace aggregate_power
