// Judges intervals of short windows, and of windows that were placed by the power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace truth {

struct StretchFigures {
  std::string name;
  std::size_t stretches = 0;
  std::size_t given = 0;  // that have an interval
  double error = 0;       // mean of the sizes of relative errors, of what the sensor would show
  double width = 0;       // of the interval, relative
  // Of those given: truths in it, above it and below it.
  double covered = 0;
  double above = 0;
  double below = 0;
};

// Windows of 2 to 10 s somewhere in a load, on an edge of it or in idle time, by the interval
// between runs on the same GPUs; and loads that are placed by the power alone: by the bounds of the
// placement, and by the interval with the accuracy of the sensors.
std::vector<StretchFigures> make_stretch_table(std::size_t runs, std::uint64_t first_seed);
std::string as_text(const std::vector<StretchFigures>& table);

}  // namespace truth
