// A benchmark result to its window and its counts.
#pragma once

#include <string>
#include <string_view>

#include "base/files/byte_source.h"
#include "loads/load_files.h"

namespace aggregate_power {

// Reads a result of any size in one pass. `name` is for messages. What is wrong is a reason, never
// an exception, but for what `source` throws.
LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules);

// The row of the table of load generators. Any file may be a result: `head` fits a little.
double fits_benchmark(std::string_view head);
LoadReading read_benchmark_files(const LoadFiles& files);

}  // namespace aggregate_power
