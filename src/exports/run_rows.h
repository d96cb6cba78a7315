// Runs and windows as rows: a CSV (RFC 4180), JSON lines, and the window log of Zeus.
#pragma once

#include <string>
#include <vector>

#include "exports/exported.h"

namespace aggregate_power {

// One row for each run and each window. The columns are always the same ones; an empty cell is not
// known. Lines end with CR LF.
std::string rows_csv(const Exported& exported);

// One object for each run and each window, a line each; what is not known is null.
std::string rows_jsonl(const Exported& exported);

// start_time, window_name, elapsed_time and a column for each GPU. Runs and windows without a time,
// or of which no GPU's energy is known, are left out, with a line in `warnings`. Throws Error if
// GPUs that are not named by numbers differ from row to row.
std::string rows_zeus(const Exported& exported, std::vector<std::string>& warnings);

}  // namespace aggregate_power
