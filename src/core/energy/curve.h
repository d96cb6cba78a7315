// The power of one device over a recording, for the energy of any stretch of it. Pure arithmetic:
// no files, no clock, no printing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

class PowerTrace {
 public:
  // `samples` in any order; those with one stamp are averaged. Nothing is known between two samples
  // with one of `pauses` between them: there the power is taken as 0 W, and nothing is covered.
  // `invalid_unix_s` are the times, in any order, of rows whose power is none: below 0 W, or not a
  // number.
  PowerTrace(std::string device, std::vector<Sample> samples, Interpolation interpolation,
             std::span<const Window> pauses = {}, std::vector<double> invalid_unix_s = {});

  const std::string& device() const { return device_; }
  void rename(std::string device) { device_ = std::move(device); }
  Interpolation interpolation() const { return interpolation_; }
  // Sorted, without equal stamps.
  std::span<const Sample> samples() const { return samples_; }
  // The number of stamps whose samples were more than 10 % of their mean apart.
  std::uint64_t disagreeing() const { return disagreeing_; }
  // Sorted.
  std::span<const double> invalid_unix_s() const { return invalid_unix_s_; }
  // The first time in the window, its edges included, of a row whose power is none.
  std::optional<double> first_invalid_unix_s(Window window) const;

  // Whether there are samples at or before its start, and at or after its end, without a pause
  // inside. Time grows with the logarithm of the samples.
  bool covers(Window window) const;
  // The energy inside the window and between the first and the last sample, in joules. Exact to
  // rounding however long the recording is. Time grows with the logarithm of the samples.
  double energy_j(Window window) const;
  // The highest power inside the window and between the first and the last sample; 0 if they do not
  // meet. Time grows with the logarithm of the samples.
  double peak_w(Window window) const;
  // At an instant between the first and the last sample.
  double watts_at(double unix_s) const;

 private:
  // Of the samples before this index, and of the stretch from the last of them to `unix_s`.
  struct Energy {
    double high_j = 0;
    double low_j = 0;  // what high_j rounds off
  };
  Energy until(double unix_s) const;
  double mean_w(double from, double to) const;
  double highest_w(std::size_t begin, std::size_t end) const;  // of these samples
  void note(Window pause);
  bool is_pause_before(std::size_t sample) const {
    return std::ranges::binary_search(behind_pauses_, sample);
  }

  std::string device_;
  std::vector<Sample> samples_;
  std::vector<double> invalid_unix_s_;
  std::uint64_t disagreeing_ = 0;
  Interpolation interpolation_;
  std::vector<std::size_t> behind_pauses_;  // the samples with a pause before them, sorted
  std::vector<Energy> energies_;            // from the first sample to each
  // Of each kBlock samples, then of each two such blocks in a row, each four, and so on.
  std::vector<std::vector<double>> highest_w_;
};

// ---- The power between two samples: linear interpolation. Contract.md B.4.

// `left` and `right` are neighbouring samples, `right` the first one at or after `unix_s`; a sample
// within a nanosecond of `unix_s` is taken as it is. In this order: other orders differ in the last
// bit.
inline double watts_at(double unix_s, Sample left, Sample right) {
  constexpr double kSameInstantS = 1e-9;
  if (std::abs(right.unix_s - unix_s) <= kSameInstantS) return right.watts;
  const double fraction = (unix_s - left.unix_s) / (right.unix_s - left.unix_s);
  return left.watts + fraction * (right.watts - left.watts);
}

// ---- A sum of doubles with twice their digits.

class LongSum {
 public:
  void add(double value) {
    const double sum = high_ + value;
    const double part = sum - high_;
    low_ += (high_ - (sum - part)) + (value - part);  // what the sum rounds off
    high_ = sum + low_;
    low_ -= high_ - sum;
  }
  double value() const { return high_ + low_; }
  // How much was added since `earlier`, a copy of this sum.
  double since(const LongSum& earlier) const {
    return (high_ - earlier.high_) + (low_ - earlier.low_);
  }

 private:
  double high_ = 0;
  double low_ = 0;  // what high_ rounds off
};

// ---- Power on straight lines between samples. Pure arithmetic.

// Of at least one sample: in time order, they share no stamp and are `older_s` older than their
// stamps; level beyond both ends. It refers to the samples.
class PowerLine {
 public:
  static constexpr std::size_t kBlock = 64;  // stretches between samples

  // With `blocks_j`, the energies of every kBlock stretches, long integrals are found quickly.
  explicit PowerLine(std::span<const Sample> samples, double older_s = 0,
                     std::span<const double> blocks_j = {})
      : samples_(samples), blocks_j_(blocks_j), older_s_(older_s) {}

  // The first sample from an instant on, or after it; the number of samples if there is none.
  std::size_t first_from(double unix_s) const;
  std::size_t first_after(double unix_s) const;

  double watts_at(double at_unix_s) const;
  double energy_j(Window window) const;
  // By how much that changes if the window is `later_s` later.
  double later_energy_change_j(Window window, double later_s) const;

  // The samples that bear on a stretch, in their places.
  std::vector<Sample> samples_near(Window stretch) const;

 private:
  double unix_s(std::size_t i) const { return samples_[i].unix_s - older_s_; }
  Sample sample(std::size_t i) const { return {unix_s(i), samples_[i].watts}; }
  double inside_j(std::size_t first, std::size_t last) const;

  std::span<const Sample> samples_;
  std::span<const double> blocks_j_;
  double older_s_;
};

// The energies of every PowerLine::kBlock stretches between samples.
std::vector<double> line_blocks_j(std::span<const Sample> samples);

bool share_stamps(std::span<const Sample> samples);
// Samples with one stamp count once, as their mean.
std::vector<Sample> merged(std::span<const Sample> samples);

}  // namespace aggregate_power

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

// Two numbers on which the processor calculates at once. GCC does not find such pairs by itself: it
// takes the terms of several rounds apart and puts them together again.
using Pair = double __attribute__((vector_size(2 * sizeof(double))));

// The larger ones of both, or the second ones where one is NaN.
inline Pair larger_of(Pair one, Pair other) {
#if defined(__SSE2__)
  return _mm_max_pd(one, other);
#else
  return one > other ? one : other;
#endif
}

// term(first) + ... + term(end - 1). Several sums at once do not wait for each other.
template <typename Term>
double sum_of(std::size_t first, std::size_t end, const Term& term) {
  Pair even = {};
  Pair odd = {};
  for (; first + 4 <= end; first += 4) {
    even += Pair{term(first), term(first + 1)};
    odd += Pair{term(first + 2), term(first + 3)};
  }
  for (; first < end; ++first) even[0] += term(first);
  return (even[0] + even[1]) + (odd[0] + odd[1]);
}

// ---- Which stretches of a trace can be measured: energy is never extrapolated, and not
// interpolated across long gaps. Pure arithmetic: no files, no clock, no printing.

class TraceCoverage {
 public:
  // The trace must outlive this object. `max_sample_gap_s` is the longest stretch without a sample;
  // a recorder that writes only changes has no gaps.
  TraceCoverage(const PowerTrace& trace, double max_sample_gap_s);

  // Why the window cannot be measured, for people; empty: it can. Time grows with the logarithm of
  // the samples.
  std::string fault(Window window) const;

 private:
  std::string edge_fault(Window window) const;

  const PowerTrace& trace_;
  double max_sample_gap_s_;
  bool has_zeros_ = false;    // samples of 0 W
  std::vector<Window> gaps_;  // the longer ones, in order of time
};

}  // namespace aggregate_power

// ---- Where the samples of a GPU are missing in a window. Contract-october.md 9.3.

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
