// The power of one GPU on a fine grid, given what its sensor showed: a Gaussian process conditioned
// on means over overlapping or separate stretches. Pure arithmetic.
//
// In each cell power is a slow part, a random walk, plus a fast part, white noise. The walk, the
// fast part and the readings are one least-squares problem with a banded, positive definite matrix
// A. Its solution is the expected power. An energy is a linear functional w of power, so its
// variance is w^T A^-1 w.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/band_matrix.h"
#include "energy/placed_readings.h"
#include "energy/power_pace.h"

namespace aggregate_power {

class PowerPosterior {
 public:
  struct Question {
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
  explicit PowerPosterior(const Question& question);

  struct Energy {
    double joules = 0;
    double variance_j2 = 0;
  };
  Energy energy(Window stretch) const;
  double joules(Window stretch) const;  // the same without its variance, which is most of the work
  // The expected power of the cell around an instant.
  double watts_at(double unix_s) const;
  // Logarithm of the probability density of the readings; comparable among posteriors of the same
  // readings on the same grid.
  double log_evidence() const { return log_evidence_; }
  // The largest deviation of a reading from what the power explains, in standard deviations.
  double worst_residual() const { return worst_residual_; }

 private:
  struct Weight {
    std::size_t cell;
    double weight;
  };
  void lay_grid(const Question& question);
  std::vector<Weight> share_of(double from_unix_s, double to_unix_s) const;
  std::vector<Weight> share_of(const PlacedReading& reading, double window_s) const;
  bool is_active(const Question& question, std::size_t cell) const;
  std::vector<double> walk_variances(const Question& question) const;
  std::vector<double> fast_variances(const Question& question) const;
  std::vector<double> noise_variances(const Question& question) const;
  std::vector<std::vector<Weight>> shares(const Question& question) const;
  void add_reading(std::span<const Weight> row, double watts, double variance);
  void solve(const Question& question);

  double first_unix_s_ = 0;
  double cell_s_ = 0;
  std::size_t cells_ = 0;
  BandMatrix matrix_{0, 0};
  std::vector<double> solution_;  // of each cell the slow part and the fast part
  double log_evidence_ = 0;
  double worst_residual_ = 0;
};

}  // namespace aggregate_power
