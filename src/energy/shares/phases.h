// The power of prefill and of decode on GPUs that do both at once, from the readings and the times
// of the requests. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

struct PhaseQuestion {
  Window window;
  double energy_j = 0;           // of the window
  std::vector<Sample> readings;  // of all GPUs together, in time order, also around the window
  std::vector<RequestTimes> requests;
  // What a reading may be a mean of: at least one. The one that explains the readings best counts;
  // its delay, and the length of its window if it is long, are found along with the watts.
  std::vector<SensorModel> sensors;
};

struct PhaseAnswer {
  PhaseEnergy energy;
  // The watts of a request in each phase, by the counts; nullopt if they are refused.
  struct Weights {
    double prefill_w = 0;
    double decode_w = 0;
  };
  std::optional<Weights> weights;
  std::vector<std::string> weights_refused;
};

// A reading is explained by what the requests did in the very stretch that it averaged: the age of
// the value shown, between 0 and the sensor's refresh, counts as a mean of six ages.
PhaseAnswer phase_energy(PhaseQuestion question);

// The readings of several GPUs that were taken together, added: for each reading of the GPU with
// the fewest, the nearest one of every other. Readings are in time order.
std::vector<Sample> readings_together(std::span<const std::vector<Sample>> gpus);

// ---- Least squares with coefficients that are not negative, and how far they may be off. Pure
// arithmetic.

// What each observed value is explained by: rows of `columns` numbers.
struct FitRows {
  std::size_t columns = 0;  // at most 8
  std::vector<double> x = {};
  std::vector<double> y = {};
  // The last columns may have coefficients of either sign, which are known beforehand to be zero
  // within these standard deviations.
  std::vector<double> free_deviations = {};

  std::size_t size() const { return y.size(); }
  const double* row(std::size_t i) const { return x.data() + i * columns; }
};

struct NonNegativeFit {
  bool is_singular = false;  // the columns are not independent; then there is nothing else
  std::vector<double> coefficients = {};
  // Of the coefficients, row by row, by Newey and West: residuals up to `lags` rows apart may be
  // correlated. Zero for a coefficient that is held at 0.
  std::vector<double> covariance = {};
  double r2 = 0;

  double standard_error(std::size_t i) const;
  // Of the sum of the coefficients times these factors.
  double standard_error(const std::vector<double>& factors) const;
};

// Without `lags` there is no covariance.
NonNegativeFit fit_non_negative(const FitRows& rows, std::optional<std::size_t> lags);

// The condition number of the correlations of these columns: 1 if they are independent, infinite if
// one follows from the others or is constant.
double correlation_condition(const FitRows& rows, const std::vector<std::size_t>& columns);

// ---- How many requests were in which phase, for any stretch of time. Pure arithmetic: no files,
// no clock, no printing.

// Seconds of a stretch, times requests where they are counted.
struct Activity {
  double prefills = 0;  // requests between sending and first token
  double decodes = 0;   // requests behind it
  // The states of a server that serves one prefill at a time.
  double idle_s = 0;
  double prefill_s = 0;        // while any request waits for its first token
  double decode_s = 0;         // while none does, and some decode
  double further_decodes = 0;  // all but the first, in the state decode

  Activity& operator+=(const Activity& other);
  Activity operator-(const Activity& other) const;
  Activity operator/(double divisor) const;
};

class PhaseActivity {
 public:
  // Requests without times are left out; one without a first token waits to its end.
  explicit PhaseActivity(std::span<const RequestTimes> requests);

  // Where a search ended, for one of a later instant.
  struct Place {
    std::size_t next = 0;
  };
  // From a fixed instant on. All instants of one place are in time order; then each takes time that
  // grows with the logarithm of the starts and ends since the one before.
  Activity until(double unix_s, Place& place) const;
  Activity in(Window window) const {
    Place place;
    const Activity before = until(window.start_unix_s, place);
    return until(window.end_unix_s, place) - before;
  }

 private:
  struct Stretch {
    double start_unix_s;
    std::int32_t prefills;
    std::int32_t decodes;
    Activity before;  // from the first stretch's start on
  };
  static Activity of(const Stretch& stretch, double seconds);

  std::vector<Stretch> stretches_;  // in time order; the first and the last are idle
};

}  // namespace aggregate_power
