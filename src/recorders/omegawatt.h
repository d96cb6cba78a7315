// The CSV of OmegaWatt's wall meter, as `wattmetre-read` writes it and AIPowerMeter keeps it beside
// its records: a frame each 10 ms, with the active power of each socket.
//
// A socket is that of a whole machine, not of a GPU. Frames that the meter marks as not read have
// no values. Lines before the header are what the program printed on its standard error.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_omegawatt(std::string_view head);
Telemetry open_omegawatt(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> omegawatt_schemas();

}  // namespace aggregate_power
