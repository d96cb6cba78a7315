// Where the samples of a GPU are missing in a window. Pure arithmetic. Contract-october.md 9.3.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

struct SampleHoles {
  std::vector<Window> holes;  // each from one sample to the next: gaps, and around isolated cells
  double covered_share = 0;   // of the window, without the gaps
  std::size_t missing_cells = 0;   // inside the window
  std::size_t isolated_cells = 0;  // of these, those outside of the gaps
  bool has_start = false;          // there is a sample at or before the window's start
  bool has_end = false;            // and one at or after its end
};

// `samples` and `blanks_unix_s`, the stamps of cells without a reading, are in time order. Longer
// stretches than `longest_gap_s` between two samples are gaps; only those count as not covered.
SampleHoles holes_of(std::span<const Sample> samples, std::span<const double> blanks_unix_s,
                     Window window, double longest_gap_s);

// How many cells of a GPU may be missing, next to the readings it has: two, or 1 %.
std::size_t allowed_missing_cells(std::size_t readings, std::size_t missing);

}  // namespace aggregate_power::energy
