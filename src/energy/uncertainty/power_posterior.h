// The energy of one GPU, given what its sensor showed: a Gaussian process conditioned on means over
// overlapping or separate stretches. Pure arithmetic.
//
// On the grid, a reading or an energy is a sum of independent terms: the level of the first cell,
// the steps of the walk, the fast parts, and the errors of readings. The difference of neighbouring
// readings has no steps from before or after both of them, so all differences z have a banded
// covariance K. An energy is that under a line through the readings, plus the line's error, which
// has the variance v and the covariances c with z. Given z, its mean is c^T K^-1 z, and its
// variance is v - c^T K^-1 c.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/band_matrix.h"
#include "energy/uncertainty/power_grid.h"

namespace aggregate_power {

class PowerPosterior {
 public:
  explicit PowerPosterior(const PowerQuestion& question);

  struct Energy {
    double joules = 0;
    double variance_j2 = 0;
  };
  Energy energy(Window stretch) const;
  // Logarithm of the probability density of the readings; comparable among posteriors of the same
  // readings on the same grid.
  double log_evidence() const { return log_evidence_; }

 private:
  // Of a cell's fast part, and of the step from it to the next cell.
  struct Share {
    double fast = 0;
    double step = 0;
  };
  struct Row {
    double watts = 0;
    double middle_unix_s = 0;     // of the stretch that it is a mean over
    double error_w2 = 0;          // variance
    PowerGrid::Cells cells = {};  // that it is a mean of
    std::size_t place = 0;        // in weights_, of the first cell's weight
    double weight = 0;            // of all of them
    // Its difference is watts - ratio * (watts of an earlier row); its own: of none.
    std::size_t base = 0;
    double ratio = 0;
    PowerGrid::Cells shared = {};  // that the difference depends on
    std::size_t share = 0;         // in shares_, of the first of those
    double level = 0;              // share of the first cell's level
  };
  struct CellShares {
    PowerGrid::Cells cells;
    std::span<const Share> values;
  };
  void lay_readings(const PowerQuestion& question);
  void take_differences();
  void add_weights(const Row& row, double factor, std::size_t first_cell,
                   std::span<Share> into) const;
  static void add_steps(std::span<Share> shares);
  CellShares shares_of(const Row& row) const;
  std::vector<Share> scaled(const CellShares& shares) const;
  static double product(const CellShares& one, const CellShares& other);
  double shared_error_w2(std::size_t later, std::size_t earlier) const;
  std::size_t reach() const;
  void solve();
  std::vector<double> line_of(Window stretch) const;

  PowerGrid grid_;
  std::vector<Row> rows_;  // of the readings
  std::vector<double> weights_;
  std::vector<Share> shares_;
  std::vector<double> differences_w_;
  BandMatrix covariance_{0, 0};  // of the differences, factored
  double log_evidence_ = 0;
};

}  // namespace aggregate_power
