// Reads when layers ran from a CSV, as GPUPP's layer profiler writes it.
#pragma once

#include "base/system/byte_source.h"
#include "generators/gpu_trace_part.h"

namespace aggregate_power {

// Columns layer_name, start_time and end_time (Unix times) count; the others are not read. The
// layers are ranges of the host. The n-th run of each layer belongs to iteration n. Throws Error,
// which begins with `path`, if a column is missing or a row cannot be used.
GpuTrace read_layer_intervals(ByteSource& source, const std::string& path);

}  // namespace aggregate_power
