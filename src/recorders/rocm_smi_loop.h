// `rocm-smi --showpower --csv` in a loop, whose lines have no time: a script puts one before each
// line, or in a line of its own before each round.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

double fits_rocm_smi_loop(std::string_view head);
Telemetry open_rocm_smi_loop(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
std::vector<SchemaRow> rocm_smi_loop_schemas();

}  // namespace aggregate_power
