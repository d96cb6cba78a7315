// Scrapes of an exporter, as it prints them for Prometheus: one after the other in a file, each
// with its time, or a file each in a folder.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

// Only scrapes with times: at the end of a sample's line, or in a line of its own before a scrape
// ("1777118400", "# 2026-04-25T12:00:00Z").
double fits_scrapes(std::string_view head);
Telemetry open_scrapes(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> scrape_schemas();

}  // namespace aggregate_power
