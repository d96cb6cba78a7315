// Which of several benchmarks in a result is meant.
#pragma once

#include <string>
#include <vector>

#include "core/load/load_files.h"

namespace aggregate_power {

// "2: request_rate=4.0 max_concurrency=8"; benchmarks count from 1.
std::string benchmark_label(const LoadReading& reading, std::size_t number);

struct SelectedLoads {
  std::vector<LoadReading> loads;
  std::vector<std::size_t> numbers;  // of each among all of the result, from 1
  std::string fault;                 // why none is selected; lists the benchmarks there are
};

// `selection` is N, "last", "all" or KEY=VALUE, which may match several; empty: the only one.
SelectedLoads select_loads(std::vector<LoadReading> loads, const std::string& selection);

// Whether it has one of these forms.
bool is_selection(const std::string& text);

}  // namespace aggregate_power
