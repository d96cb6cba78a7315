// Sums trapezoids, interpolates at the window's edges, and notes odd samples.
#include "core/energy/device_integrator.h"

#include <algorithm>

#include "core/energy/interpolation.h"

namespace aggregate_power {

Sample DeviceIntegrator::finished_stamp() {
  const double watts = same_stamp_->mean();
  same_stamp_.reset();
  return {stamp_.unix_s, watts};
}

void DeviceIntegrator::take_near_edge(Sample sample) {
  const bool is_first = result_.samples++ == 0;
  if (is_first) {
    result_.first_unix_s = sample.unix_s;
  } else if (sample.unix_s > window_.start_unix_s && before_.unix_s < window_.end_unix_s) {
    result_.max_sample_gap_s = std::max(result_.max_sample_gap_s, sample.unix_s - before_.unix_s);
  }
  if (is_first) before_ = sample;
  if (!done_) integrate_to(sample);
  before_ = sample;
}

void DeviceIntegrator::integrate_to(Sample sample) {
  if (!inside_) {
    if (sample.unix_s < window_.start_unix_s) return;
    inside_ = true;
    const bool counts_before =
        before_.unix_s < window_.start_unix_s && sample.unix_s > window_.start_unix_s;
    if (counts_before && before_.watts > kMostUsualWatts) note_odd(before_);
    point_ = {window_.start_unix_s, watts_at(window_.start_unix_s, before_, sample)};
  }
  note_if_odd(sample);
  if (sample.unix_s > window_.start_unix_s && sample.unix_s < window_.end_unix_s) {
    result_.energy_j += trapezoid_j(point_, sample);
    point_ = sample;
    is_steady_ = true;
  }
  if (sample.unix_s >= window_.end_unix_s) {
    const Sample end = {window_.end_unix_s, watts_at(window_.end_unix_s, before_, sample)};
    result_.energy_j += trapezoid_j(is_steady_ ? before_ : point_, end);
    is_steady_ = false;
    done_ = true;
  }
}

void DeviceIntegrator::note_odd(Sample sample) {
  constexpr double kOnW = 15;
  constexpr std::uint32_t kMostLoneZeros = 3;
  if (sample.watts > kMostBoardWatts) ++result_.absurd_samples;
  if (sample.watts > kMostUsualWatts && sample.watts > result_.highest_w) {
    result_.highest_w = sample.watts;
    result_.highest_unix_s = sample.unix_s;
  }
  if (sample.watts == 0) {
    if (zeros_++ == 0) is_on_before_zeros_ = before_.watts > kOnW;
    return;
  }
  const bool are_lone = is_on_before_zeros_ && zeros_ <= kMostLoneZeros && sample.watts > kOnW;
  if (are_lone) result_.lone_zeros += zeros_;
  zeros_ = 0;
}

// Adds those at the front that are later than the one before, inside the window behind a sample
// that is, and not odd: what changes with each of them stays in registers. Returns their number.
std::size_t DeviceIntegrator::add_steady(std::span<const Sample> samples) {
  if (!is_steady_ || same_stamp_ || zeros_ > 0 || is_odd(stamp_.watts)) return 0;
  Sample before = before_;
  Sample stamp = stamp_;
  double energy_j = result_.energy_j;
  double max_gap_s = result_.max_sample_gap_s;
  std::size_t count = 0;
  for (const Sample& sample : samples) {
    if (!(sample.unix_s > stamp.unix_s) || sample.unix_s >= window_.end_unix_s) break;
    if (is_odd(sample.watts)) break;
    max_gap_s = std::max(max_gap_s, stamp.unix_s - before.unix_s);
    energy_j += trapezoid_j(before, stamp);
    before = stamp;
    stamp = sample;
    ++count;
  }
  before_ = before;
  stamp_ = stamp;
  result_.energy_j = energy_j;
  result_.max_sample_gap_s = max_gap_s;
  result_.samples += count;
  return count;
}

DeviceEnergy DeviceIntegrator::finish() {
  if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
  has_stamp_ = false;
  result_.last_unix_s = before_.unix_s;
  result_.bracketed = result_.samples >= 2 && result_.first_unix_s <= window_.start_unix_s &&
                      result_.last_unix_s >= window_.end_unix_s;
  if (!result_.bracketed) result_.energy_j = result_.max_sample_gap_s = 0;
  return result_;
}

}  // namespace aggregate_power
