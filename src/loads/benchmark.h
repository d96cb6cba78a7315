// Reads the window and the counts of a benchmark result.
#pragma once

#include <string>
#include <string_view>

#include "base/files/byte_source.h"
#include "loads/load_files.h"

namespace aggregate_power {

// Reads a result of any size in one pass. `name` is for messages. Faults are reasons, never
// exceptions, except what `source` throws.
LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules);

// The row in the table of load generators. Any file may be a result: `head` always fits a little.
double fits_benchmark(std::string_view head);
LoadReading read_benchmark_files(const LoadFiles& files);

}  // namespace aggregate_power
