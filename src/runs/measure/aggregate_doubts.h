// What speaks against the files of a run belonging together: its result, its aggregate and the
// number of GPUs that were counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "core/load/load_files.h"

namespace aggregate_power::runs {

// The aggregate of a run: its file's name, and what it says.
struct AggregateText {
  std::string_view name;
  std::string_view text;
};

// For people: where the aggregate is of another configuration than the result, or of other GPUs
// than the recording of `result`. Throws JsonError if the text is not JSON.
std::vector<std::string> aggregate_doubts(AggregateText aggregate, const LoadReading& load,
                                          const Result& result);

// For people: that the result or the aggregate (its text, or empty) states another number of GPUs
// than is counted. Throws JsonError if the text is not JSON.
std::vector<std::string> count_doubts(std::string_view aggregate, const LoadReading& load,
                                      std::size_t counted);

}  // namespace aggregate_power::runs
