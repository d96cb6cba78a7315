// Judges intervals of energies that are shared out by times: of requests, and of the kernels or
// layers of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/coverage.h"

namespace truth {

struct SharedFigures {
  std::string name;
  std::size_t drawn = 0;   // requests, or rows
  double error = 0;        // mean of the sizes of relative errors
  double width = 0;        // of the interval, relative
  Coverage coverage = {};  // by the intervals that are given

  void add(double low_j, double middle_j, double high_j, double true_j);
};

// Each of `loads` loads is seen by a board that is off by as much as boards are.
std::vector<SharedFigures> make_shared_table(std::size_t loads, std::uint64_t first_seed);
std::string as_text(const std::vector<SharedFigures>& table);

}  // namespace truth
