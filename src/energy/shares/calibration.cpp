// Cuts both recordings into stretches, finds the lag, and fits a line whose errors are related in
// time.
#include "energy/shares/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/show_time.h"
#include "core/energy/recording_summary.h"
#include "energy/shares/node_meter.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/uncertainty.h"

namespace aggregate_power {
namespace {

constexpr double kMostLagS = 15;
constexpr double kLagStepS = 0.1;
constexpr double kMostStepW = 25;
constexpr double kMostSeconds = 7 * 86400;
constexpr double kForever = 1e15;
constexpr std::size_t kFewestStretches = 12;
constexpr double kMostStretches = 600;
constexpr double kReadingsOfStretch = 4;  // of a GPU
constexpr double kLeastTapS = 1;
constexpr double kEdges = 6;  // of a load, at least: each is seen only to a reading
constexpr double kAlsoFits = 1.3;
constexpr double kFitRounding = 1e-9;
constexpr double kWhite = 1.02;
constexpr double kNoiseDoubt = 0.2;  // relative, of what the noise of the GPUs' readings does
constexpr double kSmoothDoubt = 2;   // of kSensor_s2
constexpr double kLinesDoubt = 1;    // of what lines between readings smooth
constexpr double kSensor_s2 = 0.05;  // the variance of what a GPU's sensor averages over
constexpr double kSame = 1 - 1e-3;   // of a length of time that rounding may have shortened
// The power of the GPUs must vary at least so much: relative to its mean, and in watts.
constexpr double kLeastSwing = 0.03;
constexpr double kLeastSwingW = 5;
constexpr double kMostSlopeDoubt = 0.25;  // half of the interval
constexpr double kLeastHoldS = 10;        // of a load: a recorder may repeat a GPU's power as well
constexpr double kSurely = 4;             // standard errors
constexpr double kSlowTogetherS = 40;     // errors nearer than this are not independent
constexpr double kMostZeros = 0.1;        // of the meter's readings
constexpr double kMostScatter = 0.1;      // of its range: more may be a meter that stands still

// level, slope, and what a shift in time adds.
constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;
using Matrix = std::array<Terms, kTerms>;

// ---- The meter's readings

// The shortest time for which a GPU's power keeps a level, as far as most levels show it; 0: it has
// none.
double hold_of(const PowerTrace& gpu) {
  const std::span<const Sample> samples = gpu.samples();
  if (samples.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(samples, {}, &Sample::watts);
  const double change_w = std::max(kLeastSwingW, kLeastSwing * (most.watts - least.watts));
  std::vector<double> holds;
  double last = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (std::abs(samples[i].watts - samples[i - 1].watts) < change_w) continue;
    if (last > 0) holds.push_back(samples[i].unix_s - last);
    last = samples[i].unix_s;
  }
  if (holds.size() < 2) return 0;
  std::ranges::sort(holds);
  return holds[holds.size() / 10];
}

// A reading that repeats the one before is held, unless the meter had time for a new one, or the
// GPUs kept their power as long. Returns the time that the meter needs; 0: it never changes.
double refresh_of(std::span<const NodeWitness::Reading> readings,
                  std::span<const PowerTrace> gpus) {
  std::vector<double> polls;
  std::vector<double> changes;
  double last = 0;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    polls.push_back(readings[i].unix_s - readings[i - 1].unix_s);
    if (readings[i].value == readings[i - 1].value) continue;
    if (last > 0) changes.push_back(readings[i].unix_s - last);
    last = readings[i].unix_s;
  }
  if (changes.size() < 2) return 0;
  std::ranges::sort(changes);
  const double poll_s = upper_median(std::move(polls));
  const double change_s = std::max(changes[changes.size() / 10], poll_s);
  const bool is_by_load = std::ranges::any_of(gpus, [&](const PowerTrace& gpu) {
    const double hold_s = hold_of(gpu);
    return hold_s >= kLeastHoldS && std::abs(hold_s - change_s) <= 2 * poll_s;
  });
  return is_by_load ? poll_s : change_s;
}

std::vector<NodeWitness::Reading> without_held(std::span<const NodeWitness::Reading> readings,
                                               double refresh_s) {
  std::vector<NodeWitness::Reading> kept;
  bool is_new = false;  // what the meter showed first may be old
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const bool changes = readings[i].value != readings[i - 1].value;
    is_new = is_new || changes;
    const bool is_due =
        kept.empty() || readings[i].unix_s - kept.back().unix_s >= kSame * refresh_s;
    if (is_new && (changes || is_due)) kept.push_back(readings[i]);
  }
  return kept;
}

// The energy that the meter saw if each reading is the mean since the one before.
void make_counter(NodeWitness& meter) {
  meter.kind = NodeWitness::Kind::counter;
  double joules = 0;
  double last_unix_s = meter.readings.front().unix_s;
  for (NodeWitness::Reading& reading : meter.readings) {
    joules += reading.value * (reading.unix_s - std::exchange(last_unix_s, reading.unix_s));
    reading.value = joules;
  }
}

// What it recorded while the GPUs were, at any lag: its log may be of days. In order of time.
NodeWitness meter_near(Window recorded, const NodeWitness& meter) {
  NodeWitness near = meter;
  near.readings = ordered_readings(meter.readings);
  std::erase_if(near.readings, [&](const NodeWitness::Reading& reading) {
    return reading.unix_s < recorded.start_unix_s - kMostLagS ||
           reading.unix_s > recorded.end_unix_s + kMostLagS;
  });
  return near;
}

// ---- The GPUs' power

double mean_w(std::span<const PowerTrace> gpus, Window window) {
  return summed(gpus, [&](const PowerTrace& gpu) { return gpu.energy_j(window); }) /
         window.duration_s();
}

// The variance of what each reading shows of itself alone: noise, and bursts between two readings.
// Differences between readings grow with the time between them where the load has steps, and not
// where it is noise; steps do no harm, since a line between two readings is right in the mean.
struct Noise {
  double variance = 0;
  double most = 0;  // if all that does not grow in step with the time is noise
};

Noise noise_of(const PowerTrace& gpu) {
  const std::span<const Sample> samples = gpu.samples();
  if (gpu.interpolation() != Interpolation::linear || samples.size() < 4) return {};
  const auto half_square = [&](std::size_t apart) {
    double sum = 0;
    for (std::size_t i = apart; i < samples.size(); ++i) {
      sum += std::pow(samples[i].watts - samples[i - apart].watts, 2) / 2;
    }
    return sum / static_cast<double>(samples.size() - apart);
  };
  const double one = half_square(1);
  const double two = half_square(2);
  const double three = half_square(3);
  const double most = std::max(0.0, 2 * one - two);
  if (two <= one * kWhite) return {std::min(one, most), most};
  // Noise, and a load that forgets its state exponentially.
  const double forgets = three > two ? one - (two - one) * (two - one) / (three - two) : most / 2;
  return {std::clamp(forgets, 0.0, most), most};
}

// The energy of all GPUs up to each tenth of a second, for the search of the lag.
class EnergyTable {
 public:
  EnergyTable(std::span<const PowerTrace> traces, Window span) : first_unix_s_(span.start_unix_s) {
    const auto cells = static_cast<std::size_t>(span.duration_s() / kLagStepS) + 2;
    sums_j_.assign(cells, 0);
    for (const PowerTrace& trace : traces) {
      for (std::size_t i = 1; i < cells; ++i) sums_j_[i] += trace.energy_j(cell(i));
    }
    std::partial_sum(sums_j_.begin(), sums_j_.end(), sums_j_.begin());
  }
  double mean_w(Window window) const {
    return (until(window.end_unix_s) - until(window.start_unix_s)) / window.duration_s();
  }

 private:
  Window cell(std::size_t i) const {
    const double end_unix_s = first_unix_s_ + static_cast<double>(i) * kLagStepS;
    return {end_unix_s - kLagStepS, end_unix_s};
  }
  double until(double unix_s) const {
    const double place = std::max(0.0, (unix_s - first_unix_s_) / kLagStepS);
    const auto i = std::min(static_cast<std::size_t>(place), sums_j_.size() - 2);
    return sums_j_[i] + (place - static_cast<double>(i)) * (sums_j_[i + 1] - sums_j_[i]);
  }

  double first_unix_s_;
  std::vector<double> sums_j_;
};

// ---- Stretches of both

struct Stretch {
  Window by_meter;
  double meter_w = 0;
  double gpu_w = 0;
  Terms terms = {};  // 1, power of the GPUs, its rise in W/s
  double bend = 0;   // in W/s^2
};

Window shifted(Window window, double earlier_s) {
  return {window.start_unix_s - earlier_s, window.end_unix_s - earlier_s};
}

bool is_inside(Window part, Window whole) {
  return part.start_unix_s >= whole.start_unix_s && part.end_unix_s <= whole.end_unix_s;
}

// By their own stamps: the lag is not known yet.
bool is_asked(Window stretch, const std::vector<Window>& windows) {
  return windows.empty() ||
         std::ranges::any_of(windows, [&](Window each) { return is_inside(stretch, each); });
}

std::vector<Stretch> stretches_of(const NodeWitness& meter, double stretch_s,
                                  const std::vector<Window>& windows) {
  const WitnessMeter energy(meter);
  std::vector<Stretch> stretches;
  std::size_t from = 0;
  for (std::size_t i = 1; i < meter.readings.size(); ++i) {
    const Window between{meter.readings[from].unix_s, meter.readings[i].unix_s};
    if (between.duration_s() < kSame * stretch_s) continue;
    from = i;
    const WitnessEnergy used = energy.measure(between);
    const bool is_gap = between.duration_s() > 2 * stretch_s;
    if (!used.fault.empty() || is_gap || !is_asked(between, windows)) continue;
    stretches.push_back({between, used.energy_j / between.duration_s()});
  }
  return stretches;
}

// What a line through the stretches leaves of the variance of the meter's power, relative.
double left_by_line(std::span<const Stretch> stretches, const EnergyTable& table, double lag_s) {
  const auto count = static_cast<double>(stretches.size());
  double sum_x = 0;
  double sum_y = 0;
  std::vector<double> x;
  for (const Stretch& stretch : stretches) {
    x.push_back(table.mean_w(shifted(stretch.by_meter, lag_s)));
    sum_x += x.back();
    sum_y += stretch.meter_w;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - sum_x / count;
    const double dy = stretches[i].meter_w - sum_y / count;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  return xx > 0 && yy > 0 && xy > 0 ? 1 - xy * xy / (xx * yy) : 1;
}

struct FoundLag {
  double lag_s = 0;
  bool is_inside = false;  // of what was searched
  double most_s = 0;       // to each side
  std::size_t stretches = 0;
};

FoundLag search_lag(const std::vector<Stretch>& all, const EnergyTable& table, Window recorded) {
  const double most_s = std::min(kMostLagS, recorded.duration_s() / 6);
  const Window middle{recorded.start_unix_s + most_s, recorded.end_unix_s - most_s};
  std::vector<Stretch> stretches;
  std::ranges::copy_if(all, std::back_inserter(stretches),
                       [&](const Stretch& stretch) { return is_inside(stretch.by_meter, middle); });
  if (stretches.size() < kFewestStretches) return {0, false, most_s, stretches.size()};
  const int steps = static_cast<int>(most_s / kLagStepS);
  std::vector<double> left;
  for (int step = -steps; step <= steps; ++step) {
    left.push_back(left_by_line(stretches, table, step * kLagStepS));
  }
  const double least = *std::ranges::min_element(left);
  // A load that repeats itself fits as well a period later: the shortest lag of those.
  std::optional<int> best;
  for (int i = 0; i <= 2 * steps; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_valley =
        (i == 0 || left[at] <= left[at - 1]) && (i == 2 * steps || left[at] <= left[at + 1]);
    if (!is_valley || left[at] > kAlsoFits * least + kFitRounding) continue;
    if (!best || std::abs(i - steps) < std::abs(*best)) best = i - steps;
  }
  return {best.value_or(0) * kLagStepS, best && std::abs(*best) < steps, most_s, stretches.size()};
}

// Keeps the stretches that the GPUs cover, with a tap to each side, and sets their terms.
std::vector<Stretch> with_gpus(std::vector<Stretch> stretches, std::span<const PowerTrace> gpus,
                               const CalibrationQuestion& question, double lag_s, double tap_s,
                               double smooth_s2) {
  std::vector<TraceCoverage> coverages;
  for (const PowerTrace& gpu : gpus) {
    coverages.emplace_back(gpu, std::max(question.max_sample_gap_s, tap_s));
  }
  std::erase_if(stretches, [&](const Stretch& stretch) {
    const Window own = shifted(stretch.by_meter, lag_s);
    const Window around{own.start_unix_s - tap_s, own.end_unix_s + tap_s};
    return !is_asked(own, question.windows) ||
           std::ranges::any_of(coverages, [&](const TraceCoverage& coverage) {
             return !coverage.fault(around).empty();
           });
  });
  for (Stretch& stretch : stretches) {
    const Window own = shifted(stretch.by_meter, lag_s);
    const double later_w = mean_w(gpus, shifted(own, -tap_s));
    const double earlier_w = mean_w(gpus, shifted(own, tap_s));
    const double rise = (later_w - earlier_w) / (2 * tap_s);
    stretch.gpu_w = mean_w(gpus, own);
    const double bend = (later_w - 2 * stretch.gpu_w + earlier_w) / (tap_s * tap_s);
    stretch.terms = {1, stretch.gpu_w - smooth_s2 / 2 * bend, rise};
    stretch.bend = bend;
  }
  return stretches;
}

// ---- The line, if errors are white noise and, `slow` times as much, what changes slowly

struct LineFit {
  Terms terms = {};
  Matrix covariance = {};
  double log_likelihood = 0;
  double slope_by_noise = 0;  // the share of it that noise of 1 W^2 would take
  double slope_by_bend = 0;   // what a bend of 1 W/s^2 in the meter's power does to the slope
  double slow_w = 0;
  double slow_s = 0;
  double scatter_w = 0;
};

BandMatrix factored(const Matrix& matrix) {
  BandMatrix factors(kTerms, kTerms - 1);
  for (std::size_t row = 0; row < kTerms; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      factors.at(row, column) = matrix[row][column];
    }
  }
  factors.factor();
  return factors;
}

Matrix inverse(const Matrix& matrix) {
  const BandMatrix factors = factored(matrix);
  Matrix result = {};
  for (std::size_t i = 0; i < kTerms; ++i) {
    result[i][i] = 1;
    factors.solve(result[i]);
  }
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result = {};
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) {
      for (std::size_t k = 0; k < kTerms; ++k) result[i][j] += a[i][k] * b[k][j];
    }
  }
  return result;
}

// One stretch with the errors of those before it taken out: a row of independent ones.
constexpr std::size_t kBend = 1 + kTerms;
constexpr std::size_t kRow = kBend + 1;
using Row = std::array<double, kRow>;

Row row_of(const Stretch& stretch) {
  Row row = {stretch.meter_w};
  std::ranges::copy(stretch.terms, row.begin() + 1);
  row[kBend] = stretch.bend;
  return row;
}

struct Whitened {
  std::vector<Row> rows;
  double log_variance = 0;  // the sum of the logarithms of the variances
  double noise = 0;         // the sum of squares that white noise of variance 1 has in them
};

// A Kalman filter of white noise of variance 1 and a value of variance `slow` that is forgotten
// within `slow_s`.
Whitened whitened(std::span<const Stretch> stretches, double slow, double slow_s) {
  Whitened result;
  Row state = {};
  double noise = 0;  // in a state
  double variance = slow;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (i > 0) {
      const double apart_s =
          stretches[i].by_meter.start_unix_s - stretches[i - 1].by_meter.start_unix_s;
      const double kept = std::exp(-apart_s / slow_s);
      for (double& each : state) each *= kept;
      noise *= kept * kept;
      variance = kept * kept * variance + slow * (1 - kept * kept);
    }
    const double seen = variance + 1;
    const double gain = variance / seen;
    Row row = row_of(stretches[i]);
    for (std::size_t k = 0; k < kRow; ++k) {
      const double innovation = row[k] - state[k];
      state[k] += gain * innovation;
      row[k] = innovation / std::sqrt(seen);
    }
    result.noise += (1 + noise) / seen;
    noise = (1 - gain) * (1 - gain) * noise + gain * gain;
    variance *= 1 - gain;
    result.log_variance += std::log(seen);
    result.rows.push_back(row);
  }
  return result;
}

// `noise_w2` is the variance of the GPUs' power in a stretch that is noise.
LineFit fit_line(std::span<const Stretch> stretches, double noise_w2, double slow, double slow_s) {
  const auto [rows, log_variance, white] = whitened(stretches, slow, slow_s);
  const double noise = noise_w2 * white;
  Matrix square = {};
  Terms right = {};
  Terms bent = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      right[i] += row[1 + i] * row[0];
      bent[i] += row[1 + i] * row[kBend];
      for (std::size_t j = 0; j < kTerms; ++j) square[i][j] += row[1 + i] * row[1 + j];
    }
  }
  Matrix cross = square;
  cross[1][1] -= noise;
  LineFit fit;
  const Matrix unfold = inverse(cross);
  for (std::size_t i = 0; i < kTerms; ++i) {
    fit.terms[i] = std::inner_product(right.begin(), right.end(), unfold[i].begin(), 0.0);
  }
  fit.slope_by_bend = std::inner_product(bent.begin(), bent.end(), unfold[1].begin(), 0.0);
  fit.slope_by_noise = white * unfold[1][1];
  double left = 0;
  for (const Row& row : rows) {
    double rest = row[0];
    for (std::size_t i = 0; i < kTerms; ++i) rest -= fit.terms[i] * row[1 + i];
    left += rest * rest;
  }
  const double freedom = static_cast<double>(rows.size() - kTerms);
  // Below a millionth of a watt, rounding is all that is left.
  const double variance = std::max(left / freedom, 1e-12);
  fit.covariance = product(product(unfold, square), unfold);
  for (Terms& each : fit.covariance) {
    for (double& element : each) element *= variance;
  }
  fit.log_likelihood =
      -(log_variance + factored(square).log_determinant() + freedom * std::log(variance)) / 2;
  fit.slow_w = std::sqrt(slow * variance);
  fit.slow_s = slow_s;
  fit.scatter_w = std::sqrt((1 + slow) * variance);
  return fit;
}

// ---- Everything that the errors may be like, weighed by how well it explains them

struct WeighedFit {
  LineFit line;
  double weight = 0;
};

std::vector<WeighedFit> fits_of(std::span<const Stretch> stretches, double noise_w2,
                                double stretch_s) {
  const double seconds =
      stretches.back().by_meter.end_unix_s - stretches.front().by_meter.start_unix_s;
  std::vector<WeighedFit> fits = {{fit_line(stretches, noise_w2, 0, stretch_s)}};
  for (double slow_s = 1.5 * stretch_s; slow_s < seconds; slow_s *= 2) {
    for (double slow = 0.03; slow < 1000; slow *= 3) {
      fits.push_back({fit_line(stretches, noise_w2, slow, slow_s)});
    }
  }
  std::erase_if(fits, [](const WeighedFit& fit) {
    return !std::isfinite(fit.line.log_likelihood) || !(fit.line.slope_by_noise > 0);
  });
  if (fits.empty()) return fits;
  const auto likelihood = [](const WeighedFit& fit) { return fit.line.log_likelihood; };
  const double most = likelihood(*std::ranges::max_element(fits, {}, likelihood));
  double sum = 0;
  for (WeighedFit& fit : fits) sum += fit.weight = std::exp(likelihood(fit) - most);
  for (WeighedFit& fit : fits) fit.weight /= sum;
  return fits;
}

// base + weights * terms, and what else is not known of it: a standard uncertainty.
struct WantedNumber {
  Terms weights = {};
  double base = 0;
  double others = 0;
};

struct Seen {
  std::vector<WeighedFit> fits;
  double freedom = 0;
  double smooth_doubt_s2 = 0;  // of the variance of what GPUs' sensors and meter average over
  double noise_doubt_w2 = 0;   // of the noise of the GPUs' power
};

// Value and standard uncertainty by one fit.
std::pair<double, double> number_by(const LineFit& fit, const WantedNumber& wanted,
                                    const Seen& seen) {
  const double doubt = std::hypot(seen.smooth_doubt_s2 / 2 * fit.slope_by_bend,
                                  seen.noise_doubt_w2 * fit.slope_by_noise) *
                       fit.terms[1] * wanted.weights[1];
  double value = wanted.base;
  double variance = doubt * doubt + wanted.others * wanted.others;
  for (std::size_t i = 0; i < kTerms; ++i) {
    value += wanted.weights[i] * fit.terms[i];
    for (std::size_t j = 0; j < kTerms; ++j) {
      variance += wanted.weights[i] * wanted.weights[j] * fit.covariance[i][j];
    }
  }
  return {value, std::sqrt(variance)};
}

// The mixture of Student's t distributions of all fits.
BoundedNumber bounded(const Seen& seen, const WantedNumber& wanted) {
  BoundedNumber result;
  double square = 0;
  for (const WeighedFit& fit : seen.fits) {
    const auto [value, standard] = number_by(fit.line, wanted, seen);
    result.value += fit.weight * value;
    square += fit.weight * (standard * standard + value * value);
  }
  result.standard = std::sqrt(std::max(0.0, square - result.value * result.value));
  const auto quantile = [&](double probability) {
    double low = result.value - 50 * result.standard;
    double high = result.value + 50 * result.standard;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      double below = 0;
      for (const WeighedFit& fit : seen.fits) {
        const auto [value, standard] = number_by(fit.line, wanted, seen);
        below += fit.weight * student_t_probability((middle - value) / standard, seen.freedom);
      }
      (below < probability ? low : high) = middle;
    }
    return low;
  };
  result.low = quantile(0.025);
  result.high = quantile(0.975);
  return result;
}

// What rounding to steps can do to a level that is not blurred by anything else.
double step_error_w(std::vector<double> values, double step_w) {
  if (!(step_w > 0)) return 0;
  std::ranges::sort(values);
  const auto levels =
      static_cast<double>(std::unique(values.begin(), values.end()) - values.begin());
  return step_w / std::sqrt(12 * levels);
}

constexpr const char* kNotTogether =
    "the meter and the GPUs have no readings over the same time: see the zone of each, and --timezone and --clock-offset";
constexpr const char* kRecordInstead =
    "record 10 minutes with the GPUs idle, under half load and under full load for a minute each, again and again";

// The largest step that a meter may have and in which all of its values are counted; 0: they are
// not counted in steps.
double reading_step(std::span<const double> values) {
  constexpr double kOff = 1e-4;
  double step = 0;
  for (const double value : values) {
    double rest = std::abs(value - values[0]);
    while (rest > kOff) {  // Euclid
      step = std::exchange(rest, step > 0 ? std::fmod(step, rest) : 0);
      if (step - rest < kOff) rest = 0;
    }
  }
  return step < 10 * kOff ? 0 : step / std::ceil(step / kMostStepW);
}

// What all GPUs recorded.
struct GpuFacts {
  Window recorded{-kForever, kForever};  // by all of them
  double period_s = 0;                   // the median between two readings
  double noise_w2 = 0;                   // Noise, of all together
  double most_noise_w2 = 0;
};

std::optional<GpuFacts> facts_of(std::span<const PowerTrace> gpus) {
  GpuFacts facts;
  std::vector<double> periods;
  for (const PowerTrace& gpu : gpus) {
    const std::span<const Sample> samples = gpu.samples();
    if (samples.size() < 2) return std::nullopt;
    facts.recorded.start_unix_s = std::max(facts.recorded.start_unix_s, samples.front().unix_s);
    facts.recorded.end_unix_s = std::min(facts.recorded.end_unix_s, samples.back().unix_s);
    const Noise noise = noise_of(gpu);
    facts.noise_w2 += noise.variance;
    facts.most_noise_w2 += noise.most;
    for (std::size_t i = 1; i < samples.size(); ++i) {
      periods.push_back(samples[i].unix_s - samples[i - 1].unix_s);
    }
  }
  if (periods.empty() || !(facts.recorded.duration_s() > 0)) return std::nullopt;
  facts.period_s = upper_median(std::move(periods));
  return facts;
}

// The means of both sides, which are taken out of the stretches, and how far the GPUs' power is
// from its own: a standard deviation.
struct Means {
  double gpu_w = 0;
  double meter_w = 0;
  double spread_w = 0;
};

Means take_means_out(std::vector<Stretch>& stretches) {
  Means means;
  const auto count = static_cast<double>(stretches.size());
  for (const Stretch& stretch : stretches) {
    means.gpu_w += stretch.terms[1] / count;
    means.meter_w += stretch.meter_w / count;
  }
  double square = 0;
  for (Stretch& stretch : stretches) {
    stretch.terms[1] -= means.gpu_w;
    stretch.meter_w -= means.meter_w;
    square += stretch.terms[1] * stretch.terms[1];
  }
  means.spread_w = std::sqrt(square / count);
  return means;
}

bool hardly_varies(const Means& means) {
  return means.spread_w < std::max(kLeastSwingW, kLeastSwing * means.gpu_w);
}

// The lag of a meter whose readings are means over its refresh; of moments it is half of that more.
void allow_moments(double refresh_s, BoundedNumber& lag) {
  lag.high += refresh_s / 2;
  lag.standard = std::hypot(lag.standard, refresh_s / 2 / std::sqrt(3));
}

void set_numbers(const Seen& seen, const Means& means, double step_w, Calibration& found) {
  const double center_w = means.gpu_w;
  found.slope = bounded(seen, {{0, 1, 0}, 0, step_w / means.spread_w});
  found.center_w = bounded(seen, {{1, 0, 0}, means.meter_w, step_w});
  found.intercept_w = bounded(
      seen, {{1, -center_w, 0}, means.meter_w, step_w * std::hypot(1, center_w / means.spread_w)});
  for (const WeighedFit& fit : seen.fits) {
    found.slow_w += fit.weight * fit.line.slow_w;
    found.slow_s += fit.weight * fit.line.slow_s;
    found.scatter_w += fit.weight * fit.line.scatter_w;
  }
}

// How far the curve through the stretches is from its own chord, in the middle of the GPUs' range;
// 0: it is not significant. Errors that change slowly count as one for the time that they keep.
double bow_of(std::span<const Stretch> stretches, const Seen& seen, double stretch_s) {
  const LineFit& fit = std::ranges::max_element(seen.fits, {}, &WeighedFit::weight)->line;
  const auto count = static_cast<double>(stretches.size());
  double xx = 0;
  double xxx = 0;
  for (const Stretch& stretch : stretches) {
    xx += stretch.terms[1] * stretch.terms[1] / count;
    xxx += std::pow(stretch.terms[1], 3) / count;
  }
  double qq = 0;
  double qr = 0;
  double rr = 0;
  for (const Stretch& stretch : stretches) {
    const double x = stretch.terms[1];
    const double q = x * x - xx - xxx / xx * x;
    const double rest = stretch.meter_w - std::inner_product(fit.terms.begin(), fit.terms.end(),
                                                             stretch.terms.begin(), 0.0);
    qq += q * q;
    qr += q * rest;
    rr += rest * rest;
  }
  if (!(qq > 0)) return 0;
  const double bend = qr / qq;
  const double left = std::max(0.0, rr - bend * qr) / count;
  const double error = std::sqrt(left / qq * std::max(1.0, kSlowTogetherS / stretch_s));
  if (std::abs(bend) < kSurely * error) return 0;
  const auto [least, most] =
      std::ranges::minmax(stretches, {}, [](const Stretch& stretch) { return stretch.terms[1]; });
  return -bend * std::pow(most.terms[1] - least.terms[1], 2) / 4;
}

// A part of the time in which the GPUs' power goes through half of its range.
struct Part {
  double start_unix_s = 0;
  double slope = 0;
  double error = 0;  // standard, of the slope
};

Part part_of(std::span<const Stretch> stretches) {
  Part part{stretches.front().by_meter.start_unix_s};
  std::vector<Stretch> around(stretches.begin(), stretches.end());
  take_means_out(around);
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (const Stretch& stretch : around) {
    xx += stretch.terms[1] * stretch.terms[1];
    xy += stretch.terms[1] * stretch.meter_w;
    yy += stretch.meter_w * stretch.meter_w;
  }
  part.slope = xy / xx;
  part.error = std::sqrt(std::max(0.0, yy - xy * part.slope) /
                         (static_cast<double>(stretches.size() - 2) * xx));
  return part;
}

// The shortest from each stretch on.
std::vector<Part> parts_of(std::span<const Stretch> stretches, double range_w) {
  constexpr std::size_t kFewest = 8;
  std::vector<Part> parts;
  for (std::size_t first = 0; first < stretches.size(); ++first) {
    double least_w = stretches[first].terms[1];
    double most_w = least_w;
    for (std::size_t i = first; i < stretches.size(); ++i) {
      least_w = std::min(least_w, stretches[i].terms[1]);
      most_w = std::max(most_w, stretches[i].terms[1]);
      if (i + 1 - first < kFewest || most_w - least_w < range_w / 2) continue;
      parts.push_back(part_of(stretches.subspan(first, i + 1 - first)));
      break;
    }
  }
  return parts;
}

// Of a meter that shows all of the node in one part of the time, and in another a share of it or
// what it showed before; empty: nothing shows that.
std::string part_time_text(std::span<const Stretch> stretches, const Calibration& found) {
  constexpr double kMostOff = 0.25;   // of the slope
  constexpr double kMostShare = 0.1;  // of the time
  const std::vector<Part> parts = parts_of(stretches, found.gpu_most_w - found.gpu_least_w);
  if (parts.size() < 3) return {};
  const double usual = upper_median(mapped<double>(parts, &Part::slope));
  const Part* first = nullptr;
  double off = 0;
  for (const Part& part : parts) {
    const double off_by = std::abs(part.slope - usual);
    if (off_by <= kMostOff * usual || off_by <= kSurely * part.error) continue;
    ++off;
    if (first == nullptr) first = &part;
  }
  if (off <= kMostShare * static_cast<double>(parts.size())) return {};
  return fmt::format(
      "the meter shows {:.3g} W for each watt of the GPUs at {}, and {:.3g} W in most of the other time: it, or a supply of several, stood still or showed a part of the node: look at its log, and calibrate a part with --window",
      first->slope, unix_and_iso(first->start_unix_s), usual);
}

// ---- Each recording by itself, as far as it can be

struct Session {
  std::span<const PowerTrace> gpus;
  GpuFacts facts;
  NodeWitness meter;  // its readings over that time
  std::vector<Stretch> stretches = {};
  std::vector<double> zeros_unix_s = {};  // of readings that were left out, in order of time
  std::optional<double> lag_s = {};       // absent: the recording does not show it
};

// What the meter drew since its last reading is not in the one after a failure.
void leave_unseen_out(Session& session) {
  std::erase_if(session.stretches, [&](const Stretch& stretch) {
    const auto zero = std::ranges::lower_bound(session.zeros_unix_s, stretch.by_meter.start_unix_s);
    return zero != session.zeros_unix_s.end() && *zero < stretch.by_meter.end_unix_s;
  });
}

// How readings are compared, in all recordings alike.
struct Scale {
  double period_s = 0;
  double stretch_s = 0;
  double tap_s = 0;
  double refresh_s2 = 0;  // variances of what both sides average over
  double lines_s2 = 0;
  double smooth_s2() const { return kSensor_s2 + refresh_s2 + lines_s2; }
};

// Throws Error with why a recording cannot be used.
std::vector<Session> sessions_of(const CalibrationQuestion& question) {
  std::vector<Session> sessions;
  for (const std::span<const PowerTrace> gpus : question.recordings) {
    const auto facts = facts_of(gpus);
    if (!facts) throw Error("the GPUs have no readings over the same time");
    if (facts->recorded.duration_s() > kMostSeconds) {
      throw Error("the recording is longer than a week: cut a part of it out");
    }
    sessions.push_back({gpus, *facts, meter_near(facts->recorded, question.meter)});
    Session& session = sessions.back();
    const std::size_t all = session.meter.readings.size();
    session.zeros_unix_s = leave_zeros_out(session.meter);
    const std::size_t zeros = session.zeros_unix_s.size();
    if (static_cast<double>(zeros) > kMostZeros * static_cast<double>(all)) {
      throw Error(fmt::format(
          "{} of the meter's {} readings are 0 W, which nothing that runs GPUs draws: repair what reads it, and record again",
          zeros, all));
    }
    if (session.meter.readings.size() >= 2) continue;
    const std::string which =
        question.recordings.size() > 1
            ? fmt::format(", in the recording from {}", unix_and_iso(facts->recorded.start_unix_s))
            : "";
    throw Error(fmt::format("{}{}", kNotTogether, which));
  }
  return sessions;
}

Scale scale_of(std::vector<Session>& sessions, bool is_power, double refresh_s) {
  Scale scale;
  double seconds = 0;
  for (Session& session : sessions) {
    scale.period_s = std::max(scale.period_s, session.facts.period_s);
    std::vector<NodeWitness::Reading>& readings = session.meter.readings;
    if (is_power) readings = without_held(readings, refresh_s);
    if (readings.empty()) continue;
    if (is_power) make_counter(session.meter);
    seconds += readings.back().unix_s - readings.front().unix_s;
  }
  scale.stretch_s =
      std::max({refresh_s, kReadingsOfStretch * scale.period_s, seconds / kMostStretches});
  scale.tap_s = std::max(kLeastTapS, scale.stretch_s / 2);
  // A meter's readings are means of its refresh, or moments.
  scale.refresh_s2 = is_power ? refresh_s * refresh_s / 24 : 0;
  // Lines between readings smooth what each is a mean of, and not the steps between moments.
  scale.lines_s2 = scale.period_s * scale.period_s / 20;
  return scale;
}

// Finds the lag of a recording whose load varies. Throws Error if it varies and has none.
void find_lag(const CalibrationQuestion& question, const Scale& scale, Session& session) {
  const auto placed = [&](double lag_s) {
    return with_gpus(session.stretches, session.gpus, question, lag_s, scale.tap_s,
                     scale.smooth_s2());
  };
  std::vector<Stretch> at_once = placed(0);
  const bool is_enough = at_once.size() >= kFewestStretches;
  const bool is_alone = question.recordings.size() == 1;
  if (is_enough) {
    const Means means = take_means_out(at_once);
    if (hardly_varies(means) && !is_alone) return;
    if (hardly_varies(means)) {
      throw Error(fmt::format(
          "the power of the GPUs hardly varies ({:.1f} W around {:.1f} W), so nothing says what the meter adds to it: {}",
          means.spread_w, means.gpu_w, kRecordInstead));
    }
  } else if (!is_alone) {
    return;
  }
  const Window recorded = session.facts.recorded;
  const FoundLag lag = search_lag(session.stretches, EnergyTable(session.gpus, recorded), recorded);
  const std::size_t stretches = placed(lag.lag_s).size();
  if (stretches == 0) throw Error(kNotTogether);
  if (stretches < kFewestStretches) {
    throw Error(fmt::format(
        "only {} stretches of {:.1f} s have readings of the meter and of all GPUs, and {} are needed: {}",
        stretches, scale.stretch_s, kFewestStretches, kRecordInstead));
  }
  if (lag.stretches < kFewestStretches) {
    throw Error(fmt::format(
        "too short to find how far the clocks are apart: lags of up to {:.0f} s leave {} stretches of {:.1f} s, and {} are needed: {}",
        lag.most_s, lag.stretches, scale.stretch_s, kFewestStretches, kRecordInstead));
  }
  if (!lag.is_inside) {
    throw Error(fmt::format(
        "the meter follows the GPUs at no lag of up to {:.0f} s{}: its clock, its zone or its node is another one, or the recordings hardly overlap",
        lag.most_s,
        is_alone ? "" : ", in the recording from " + unix_and_iso(recorded.start_unix_s)));
  }
  session.lag_s = lag.lag_s;
}

// The mean of all that are known, and how far they are apart: a standard deviation.
std::pair<double, double> lag_of_all(const std::vector<Session>& sessions) {
  double count = 0;
  double sum = 0;
  double square = 0;
  for (const Session& session : sessions) {
    if (!session.lag_s) continue;
    ++count;
    sum += *session.lag_s;
    square += *session.lag_s * *session.lag_s;
  }
  if (count == 0) {
    throw Error(fmt::format(
        "the power of the GPUs hardly varies in any of the recordings, so nothing says how far the clocks are apart: {}",
        kRecordInstead));
  }
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, square / count - mean * mean))};
}

Calibration calibrated(const CalibrationQuestion& question) {
  Calibration found;
  std::vector<Session> sessions = sessions_of(question);
  std::vector<double> shown;  // by the meter
  for (const Session& session : sessions) {
    found.zeros += session.zeros_unix_s.size();
    found.refresh_s = std::max(found.refresh_s, refresh_of(session.meter.readings, session.gpus));
    for (const NodeWitness::Reading& reading : session.meter.readings)
      shown.push_back(reading.value);
  }
  if (found.refresh_s == 0) {
    const bool changes = std::ranges::adjacent_find(shown, std::not_equal_to()) != shown.end();
    throw Error(
        changes
            ? fmt::format(
                  "the meter's readings change fewer than 3 times, too few to find how often it measures: {}",
                  kRecordInstead)
            : "the meter shows the same value throughout: record the GPUs idle, too");
  }
  const bool is_power = question.meter.kind == NodeWitness::Kind::power;
  if (is_power) found.step_w = reading_step(shown);
  const double step_w = step_error_w(std::move(shown), found.step_w);
  const Scale scale = scale_of(sessions, is_power, found.refresh_s);
  found.stretch_s = scale.stretch_s;
  for (Session& session : sessions) {
    session.stretches = stretches_of(session.meter, scale.stretch_s, question.windows);
    leave_unseen_out(session);
    find_lag(question, scale, session);
  }
  const auto [lag_s, lags_apart_s] = lag_of_all(sessions);
  std::vector<Stretch> stretches;
  double noise_w2 = 0;
  double most_noise_w2 = 0;
  for (Session& session : sessions) {
    session.stretches = with_gpus(std::move(session.stretches), session.gpus, question,
                                  session.lag_s.value_or(lag_s), scale.tap_s, scale.smooth_s2());
    const auto count = static_cast<double>(session.stretches.size());
    noise_w2 += count * session.facts.noise_w2;
    most_noise_w2 += count * session.facts.most_noise_w2;
    append(stretches, session.stretches);
  }
  std::ranges::sort(stretches, {}, [](const Stretch& each) { return each.by_meter.start_unix_s; });
  found.stretches = stretches.size();
  found.gpu_least_w = std::ranges::min_element(stretches, {}, &Stretch::gpu_w)->gpu_w;
  found.gpu_most_w = std::ranges::max_element(stretches, {}, &Stretch::gpu_w)->gpu_w;
  const Means means = take_means_out(stretches);
  found.gpu_center_w = means.gpu_w;
  const auto count = static_cast<double>(stretches.size());
  found.freedom = count - static_cast<double>(kTerms);
  const double of_stretch = scale.period_s / scale.stretch_s / count;
  const Seen seen{
      fits_of(stretches, noise_w2 * of_stretch, scale.stretch_s), found.freedom,
      std::hypot(kSmoothDoubt * kSensor_s2, scale.refresh_s2, kLinesDoubt * scale.lines_s2),
      kNoiseDoubt * most_noise_w2 * of_stretch};
  if (seen.fits.empty()) throw Error(fmt::format("no line fits: {}", kRecordInstead));
  set_numbers(seen, means, step_w, found);
  found.bow_w = bow_of(stretches, seen, scale.stretch_s);
  const double explained_w = found.slope.value * means.spread_w;
  if (found.slope.low <= 0 || found.scatter_w > explained_w) {
    throw Error(fmt::format(
        "the meter hardly follows the GPUs: of its variations {:.1f} W are theirs, and {:.1f} W are not: its clock or its zone is another one, or it is of another node",
        std::max(0.0, explained_w), found.scatter_w));
  }
  if (found.scatter_w > kMostScatter * found.slope.value * (found.gpu_most_w - found.gpu_least_w)) {
    if (std::string why = part_time_text(stretches, found); !why.empty()) throw Error(why);
  }
  if (!(found.slope.half_width() <= kMostSlopeDoubt * found.slope.value)) {
    throw Error(fmt::format(
        "the meter's watts for each watt of the GPUs are only known to be between {:.3f} and {:.3f}: {}",
        found.slope.low, found.slope.high, kRecordInstead));
  }
  const double of_edges_s = std::hypot(scale.period_s, found.refresh_s) / std::sqrt(12 * kEdges);
  found.lag_s =
      bounded(seen, {{0, 0, -1 / found.slope.value}, lag_s, std::hypot(of_edges_s, lags_apart_s)});
  if (is_power) allow_moments(found.refresh_s, found.lag_s);
  return found;
}

}  // namespace

Calibration calibrate(const CalibrationQuestion& question) {
  try {
    return calibrated(question);
  } catch (const Error& why) {
    Calibration refused;
    refused.refusal = why.what();
    return refused;
  }
}

}  // namespace aggregate_power
