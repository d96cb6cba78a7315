// The windows of a benchmark result, for the energy of each.
#pragma once

#include <string>
#include <vector>

#include "generators/windows_file.h"

namespace aggregate_power {

struct BenchmarkWindows {
  std::vector<NamedWindow> windows;
  std::vector<std::string> missing;  // of each benchmark without an exact window, why
};

// Throws FileError if the result cannot be opened.
BenchmarkWindows read_benchmark_windows(const std::string& path);

}  // namespace aggregate_power
