// A reading of the hardware's own energy counters: joules by GPU.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/files/byte_source.h"

namespace aggregate_power {

// What `amd-smi metric -E --csv` wrote: columns `gpu` and `total_energy_consumption`, in joules.
// Numbers as Python's float() takes them; the last row of a GPU counts; rows without a finite
// number are passed over. Nothing when a column is missing or no row is usable. Contract.md B.8.
// Throws CsvError, and what `source` throws.
std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source);

}  // namespace aggregate_power
