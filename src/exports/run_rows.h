// Runs and windows as rows: a CSV (RFC 4180) and JSON lines.
#pragma once

#include <string>

#include "exports/exported.h"

namespace aggregate_power {

// One row for each run and each window. The columns are always the same ones; an empty cell is not
// known. Lines end with CR LF.
std::string rows_csv(const Exported& exported);

// One object for each run and each window, a line each; what is not known is null.
std::string rows_jsonl(const Exported& exported);

}  // namespace aggregate_power
