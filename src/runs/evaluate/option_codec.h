// The options of a run in its audit record: written and read by one table.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// Each kind of run has its own options. A run in a store has them in the type of their value,
// another one as texts.
enum class RunKind { recording, package, agents_package, stored_recording, stored_package };

// What is given: an option with its default is left out, unless the record of that kind always has
// it.
std::vector<RecordedOption> options_for_record(const RunSpec& run, RunKind kind);

// Sets what options_for_record() gave, each value as its spelling. A name or value that is not
// known is left out. Throws Error for faulty names of columns.
void set_recorded_options(std::span<const std::pair<std::string, std::string>> options,
                          RunSpec& run);

}  // namespace aggregate_power
