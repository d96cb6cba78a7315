// The power of one device over a recording, for the energy of any stretch of it. Pure arithmetic:
// no files, no clock, no printing.
#pragma once

#include <algorithm>
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

}  // namespace aggregate_power
