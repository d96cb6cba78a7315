// Simulated runs as files, for the program itself.
#pragma once

#include <filesystem>
#include <string>

#include "truth/simulated_run.h"

namespace truth {

// The recording, as nvidia-smi writes it in UTC, or amd-smi for an AMD board. A counter is a column
// `energy_mj`.
std::string as_csv(const SimulatedRun& run);

// Writes gpu_metrics.csv, run.json (a benchmark's result with the window), agg_run.json and
// truth.json (energies and verdicts that are due) into a new folder.
void write_files(const SimulatedRun& run, const std::filesystem::path& folder);

}  // namespace truth
