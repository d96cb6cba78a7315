// The fine grid on which the power of one GPU is estimated, and how power moves from cell to cell:
// in each it is a slow part, a random walk, plus a fast part, white noise. Pure arithmetic.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/placed_readings.h"
#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {

struct PowerQuestion {
  std::span<const PlacedReading> readings;  // at least one, in time order
  double window_s = 1;                      // that each of them is a mean over
  PowerPace pace;
  std::span<const PowerJump> jumps;
  Window window;  // its edges are edges of cells
  // Power moves at its pace in this stretch only, and hardly outside of it.
  Window active = {-std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  PowerPace still = {};
  double window_uncertainty = 0;  // of window_s, relative
};

class PowerGrid {
 public:
  explicit PowerGrid(const PowerQuestion& question);

  std::size_t cells() const { return walk_w2_.size(); }
  // Variance of the step of the slow part from a cell to the next one.
  double walk_w2(std::size_t cell) const { return walk_w2_[cell]; }
  // Variance of a cell's fast part.
  double fast_w2(std::size_t cell) const { return fast_w2_[cell]; }

  struct Cells {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  // Those that a stretch touches.
  Cells cells_in(Window stretch) const;
  // Adds the seconds of each cell in a stretch, times a factor; into[0] is that of `first_cell`.
  void add_seconds(Window stretch, double factor, std::size_t first_cell,
                   std::span<double> into) const;

 private:
  // In cells from the first one's beginning; what is beyond the grid is at its end.
  double place(double unix_s) const;
  bool is_active(const PowerQuestion& question, std::size_t cell) const;

  double first_unix_s_ = 0;
  double cell_s_ = 0;
  std::vector<double> walk_w2_;
  std::vector<double> fast_w2_;
};

}  // namespace aggregate_power
