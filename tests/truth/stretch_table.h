// Judges intervals of short windows, and of windows that were placed by the power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/coverage.h"

namespace truth {

struct StretchFigures {
  std::string name;
  std::size_t stretches = 0;
  double error = 0;  // mean of the sizes of relative errors, of what the sensor would show
  double width = 0;  // of the interval, relative
  Coverage coverage = {};
};

// Windows of 2 to 10 s somewhere in a load of each shape, and on an edge of one, by the interval
// between runs on the same GPUs; and loads that are placed by the power alone: by the bounds of the
// placement, and by the interval with the accuracy of the sensors.
std::vector<StretchFigures> make_stretch_table(std::size_t runs, std::uint64_t first_seed);
std::string as_text(const std::vector<StretchFigures>& table);

}  // namespace truth
