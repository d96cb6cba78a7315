// The steps from readings with errors to the interval of an energy, each in a file of its name.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/readings.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

// ---- A symmetric, positive definite matrix whose elements far from the diagonal are zero. Pure
// arithmetic.

class BandMatrix {
 public:
  // Elements [i, j] with |i - j| > reach are zero, and so are all others at first.
  BandMatrix(std::size_t size, std::size_t reach)
      : size_(size), reach_(reach), columns_(size * (reach + 1)) {}

  std::size_t size() const { return size_; }
  // Of the lower half: column <= row <= column + reach.
  double& at(std::size_t row, std::size_t column) {
    return columns_[column * (reach_ + 1) + row - column];
  }

  // Replaces the matrix by its factors L D L^T. Time grows with size * reach^2. Nothing above may
  // be called after it, and nothing below before it.
  void factor();
  // Replaces `right` by the solution of the equations with that right-hand side.
  void solve(std::span<double> right) const;
  double log_determinant() const;

 private:
  const double* column(std::size_t index) const { return &columns_[index * (reach_ + 1)]; }

  std::size_t size_;
  std::size_t reach_;
  std::vector<double> columns_;  // of the lower half, each from the diagonal down
};

// ---- How alike the power of several GPUs changes. Pure arithmetic.

// Mean correlation of the changes that GPUs' samples show at the same time, inside the window; 0
// for one GPU, and if it is negative.
double change_correlation(std::span<const std::span<const Sample>> gpus, Window window);

// ---- Whether the clocks of a window and of a recording differ, by a load that begins and ends
// with the window. Pure arithmetic.

// When a load began and ended that rose once and fell once.
struct LoadSpan {
  double rise_unix_s = 0;
  double fall_unix_s = 0;
  // Between two moments nobody sees when: these readings were under load.
  double latest_rise_unix_s = 0;
  double earliest_fall_unix_s = 0;
  bool is_rough = false;  // the edges are where power crossed the middle, to some tenths
};

// When power crossed the middle between idle and load. Nullopt: it did not rise once and fall once.
// Where it also did elsewhere, in a warm-up before the load or an evaluation after it, those
// nearest to the window's edges count, if they are near, power is idle outside of them and up
// inside.
struct LoadCrossings {
  double up_unix_s = 0;
  double down_unix_s = 0;
  // The first and the last sample above it.
  double high_from_unix_s = 0;
  double high_until_unix_s = 0;
  bool are_only = true;
};
std::optional<LoadCrossings> load_crossings(std::span<const Sample> samples, Window window);

// Nullopt: power does not rise once near the window's start and fall once near its end. Edges are
// placed so that the energy above the level before them is that of a sharp edge, which averaging
// does not change. `crossings` are those of the samples.
std::optional<LoadSpan> load_span(std::span<const Sample> samples, const LoadCrossings& crossings,
                                  const SensorModel& sensor, Window window);

// What must be added to the window's times, from the median GPU: nullopt unless the load is where
// it cannot be (up more than 0.2 s before the window, or more than 0.4 s after it, whenever it rose
// and fell) and both edges agree on an offset above 0.3 s, or 0.6 s if an edge is rough.
std::optional<double> clock_shift_s(std::span<const LoadSpan> gpus, Window window);

// ---- The steps of an energy counter inside a window. Pure arithmetic.

// From the first to the last step inside the window; the counter says nothing of what remains of
// it.
struct CounterSpan {
  Window between;  // stamps of the readings that first showed each step
  double energy_j = 0;
  double age_s = 0;  // at most so long before each of these stamps the step was
  bool runs_backwards = false;
};

// `counter` is in time order; it makes a step every `refresh_s` if it is asked so often. Nullopt if
// there are fewer than four steps inside.
std::optional<CounterSpan> counter_span(std::span<const CounterSample> counter, Window window,
                                        double refresh_s);

// ---- The estimate for one GPU: from its readings, its counter, and every sensor that it may have.
// Pure arithmetic.

// Of stamps of asking; standard.
struct StampUncertainty {
  double place_s = 0;  // of all of them together
  double span_s = 0;   // of the time between the first and the last
};

struct GpuEnergyQuestion {
  const GpuReadings& gpu;       // stamps are those of asking
  const ReadingSeries& series;  // its samples without faults
  Window window;                // on the recorder's clock
  double clock_uncertainty_s = 0;
  StampUncertainty stamps = {};
  double shift_uncertainty_s = 0;  // of a window that was moved to the load
  std::span<const DoubtfulReading> doubtful = {};
};

struct GpuEnergy {
  Estimate energy;  // without the accuracy of the sensor
  double shift_j = 0;
  double edges_j = 0;
  double counter_j = 0;  // correction: the counter's energy instead of the readings'
  std::optional<CounterUse> counter;
  bool is_counter_rejected = false;
  std::string counter_fault;  // for people
  bool assumes_load_in_window = false;
};

GpuEnergy gpu_energy(const GpuEnergyQuestion& question);

// ---- The fine grid on which the power of one GPU is estimated, and how power moves from cell to
// cell: in each it is a slow part, a random walk, plus a fast part, white noise. Pure arithmetic.

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

// ---- The energy of one GPU, given what its sensor showed: a Gaussian process conditioned on means
// over overlapping or separate stretches. Pure arithmetic.
//
// On the grid, a reading or an energy is a sum of independent terms: the level of the first cell,
// the steps of the walk, the fast parts, and the errors of readings. The difference of neighbouring
// readings has no steps from before or after both of them, so all differences z have a banded
// covariance K. An energy is that under a line through the readings, plus the line's error, which
// has the variance v and the covariances c with z. Given z, its mean is c^T K^-1 z, and its
// variance is v - c^T K^-1 c.

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

// ---- The energy of one GPU in a window under one sensor model, in the sensor's own frame. Pure
// arithmetic.

// Of the energy, for a load in step with readings that leave out some time: one was 13 % off on a
// real board, but few loads are. 1.5 %, times the share of time that is not seen.
double in_step_share(const SensorModel& sensor, double period_s);
// The same for averages over a long window, every `period_s`: time is left out, or counted twice,
// where the period is not the window, and what power swings within averages is misread.
// `fast_share` is how much of that the readings show, relative to their mean. 0 for other sensors.
double between_windows_share(const SensorModel& sensor, double period_s, double fast_share);

struct SensedEnergyQuestion {
  const ReadingSeries& series;  // without faults; at least two
  SensorModel sensor;
  Window window;
  double timing_s = 0;  // standard uncertainty of the readings' place in time, beyond delay_s
  // Whether a load may begin with the window, and end with it.
  bool may_begin = true;
  bool may_end = true;
  // Whether only the energy is asked for, with sampling_j, between_windows_j and log_evidence.
  bool is_brief = false;
};

// Standard uncertainties in joules.
struct SensedEnergy {
  double joules = 0;
  double sampling_j = 0;         // readings do not see all
  double timing_j = 0;           // delay and clocks
  double window_known_j = 0;     // length of the sensor's window
  double between_windows_j = 0;  // of averages, of which some time is missing or counted twice
  double moments_j = 0;          // moments stand for means
  double not_seen_j = 0;         // a load in step with readings that leave out some time
  double shift_j = 0;            // correction: readings are older than their stamps
  double edges_j = 0;            // correction: what averages blur at the edges
  bool assumes_load_in_window = false;
  std::optional<double> log_evidence;  // of the sensor model; nullopt: unknown
  // Change of the energy if the readings were a second later, or its reverse if they were earlier:
  // whichever is larger for what is not known of their times.
  double rate_w = 0;
};

inline double larger_change(double one, double other) {
  return std::abs(one) < std::abs(other) ? other : one;
}

// By how much a standard deviation grows that so few readings show: Student's t.
double few_readings(std::size_t readings);

// The same for a window of any length in bounded time: by the posterior at both edges and in some
// stretches in between, which stand for the rest.
SensedEnergy long_averaged_energy(const SensedEnergyQuestion& question);

// By straight lines between readings, which lose least if they are moments.
SensedEnergy moment_energy(const SensedEnergyQuestion& question);

// By whichever of the two suits the sensor and the recorder.
SensedEnergy sensor_energy(const SensedEnergyQuestion& question);

// The energy under straight lines between samples, which are in time order; level beyond both
// ends. Samples with one stamp count once, as their mean.
double line_energy_j(std::span<const Sample> samples, Window window);
// By how much it changes if the window is `later_s` later.
double later_energy_change_j(std::span<const Sample> samples, Window window, double later_s);

// ---- When a recorder's regular loop asked, from stamps that are cut to whole seconds. Pure
// arithmetic.

struct RegularLoop {
  std::vector<double> unix_s;     // of each stamp
  double uncertainty_s = 0;       // standard, shared by all
  double span_uncertainty_s = 0;  // standard, of the time from the first to the last
};

// `stamps` are in time order, one for each round of the loop. Rounds take 0.985 to 1.05 s; one may
// be late, but none is early. Nullopt: no such loop wrote these stamps.
std::optional<RegularLoop> regular_loop(std::span<const double> stamps);

// ---- Puts the readings of a GPU whose stamps are cut to whole seconds where its recorder asked.
// Pure arithmetic.

// A regular loop is fitted to all stamps, or, of a long recording, to those near the window's
// edges; the others are placed in the middle of their seconds.
class UncutStamps {
 public:
  // Of samples in time order.
  UncutStamps(std::span<const Sample> samples, Window window, std::size_t most_threads);

  // Whether it would be the same of other samples. A recorder asks all GPUs in one round, so it
  // mostly is.
  bool is_same_of(std::span<const Sample> samples) const;
  const StampUncertainty& uncertainty() const { return uncertainty_; }
  // Moves samples and counter, of samples of which it is the same.
  void place(GpuReadings& gpu) const;

 private:
  // Consecutive samples.
  struct FittedPart {
    std::size_t first = 0;
    std::vector<double> stamps = {};
    std::vector<double> instants = {};  // empty: no regular loop wrote these stamps
  };
  std::vector<FittedPart> parts_in(std::span<const Sample> samples) const;
  void place(std::vector<CounterSample>& counter) const;

  Window window_;
  std::vector<FittedPart> parts_;
  StampUncertainty uncertainty_;
};

// ---- What stretches without readings leave open. Pure arithmetic.

// The standard uncertainty, in joules, of the energy of a window's stretches between two readings
// that are further apart than three periods and two windows of the sensor; 0 if there are none.
// For a stretch of length g it is g * sqrt(D(g / 2) * min(1, t / g)): D(L) is half the mean square
// difference of readings that are L apart (their variance, where none are), and t the time for
// which readings resemble one another. Stretches are independent.
double unseen_j(const ReadingSeries& series, const SensorModel& sensor, Window window);

// Limits of the mean of values from `least` to `most`, some of them drawn. The mean is beyond each
// limit with probability `tail` at most. By Stringer's bound (Bickel, 1992), which takes the exact
// limits of how many values may be above each that was drawn.
struct MeanLimits {
  double low = 0;
  double high = 0;
};

// The standard uncertainty, in joules, of the energy under straight lines between readings that are
// moments far apart: the readings inside the window are drawn from all its moments, whose power is
// from 0 to `most_w`. It was so throughout stretches without readings that are longer than
// 2.5 periods. A load in step with the recorder is not covered.
double between_readings_j(const ReadingSeries& series, Window window, double most_w);

// ---- Where power rises and falls at the edges of a window: of a load between pauses, or of a
// pause between loads. Pure arithmetic.

// The stretches in which it did, by the last readings that show nothing but what is outside.
// One is missing if the power just outside was not still or is much like the window's, or if it
// changed far from the window's edge.
struct WindowEdges {
  std::optional<PowerJump> start;
  std::optional<PowerJump> end;
};

// The time around a window in which the power outside is still; beyond it another load is. All time
// if it is still throughout, or nowhere. `samples` are in time order.
Window without_other_loads(std::span<const Sample> samples, Window window);

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window);

// The standard uncertainty, in joules, of what readings in a pause still show of a load next to
// it that is too short to show its level; 0 if there is none.
double smeared_j(std::span<const PlacedReading> readings, double window_s, Window window);

// The same jump if no load begins just before an edge of the window, or ends just after it. Nullopt
// if the readings exclude that.
std::optional<PowerJump> beside_edge(const PowerJump& jump, double edge_unix_s);

}  // namespace aggregate_power
