// The hardware's own energy counters, read at the start and the end of a recording.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/system/byte_source.h"
#include "recorders/recording.h"

namespace aggregate_power {

// Reads what `amd-smi metric -E --csv` wrote, by GPU: columns `gpu` and `total_energy_consumption`,
// in joules. Numbers are those of Python's float(); the last row of a GPU counts; rows without a
// finite number are skipped. Returns nullopt if a column is missing or no row is usable.
// Contract.md B.8. Throws CsvError, and what `source` throws.
std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source);

// The snapshots beside a recording.
struct EnergySnapshots {
  std::string unavailable;      // why they cannot be compared; empty: they can
  bool could_not_read = false;  // the system's fault, not the content's
  std::map<std::string, double> start;
  std::map<std::string, double> end;
};

// Returns nullopt if there is neither. Never throws because of the snapshots.
std::optional<EnergySnapshots> read_energy_snapshots(const Recording& recording);

}  // namespace aggregate_power
