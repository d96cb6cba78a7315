// Writes the rows of a power-limit sweep as the sweep tool does.
#pragma once

#include <string>
#include <vector>

#include "decisions/limit_choice.h"
#include "decisions/sweep_rows.h"

namespace aggregate_power {

// Columns that follow those of the rows: the power of the row over its rate; of all rows at its
// limit the mean of that, and the energy over the tokens.
inline constexpr std::string_view kRatioColumns[] = {"energy_per_token", "mean_energy_per_token",
                                                     "total_energy_per_token"};

// The rows in time order, with the sweep tool's columns first, then others that they have. Cells
// stay as they were. `choice` is that of these rows.
std::string stats_csv(const SweepRows& rows, const LimitChoice& choice);

// Writes FOLDER/training_stats.csv and FOLDER/inference_stats.csv, as far as there are such rows,
// each in one step. The folder is made if need be. Returns the paths. Throws Error before anything
// is written if one of them is among `inputs`, and FileError.
std::vector<std::string> write_stats(const std::string& folder,
                                     const std::vector<SweepRows>& scenarios,
                                     const std::vector<LimitChoice>& choices,
                                     const std::vector<std::string>& inputs);

}  // namespace aggregate_power
