// Energy of one GPU over one window. Pure arithmetic: no files, no clock, no printing. Contract.md
// B.4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"
#include "core/energy/exact_mean.h"
#include "core/energy/plausibility.h"

namespace aggregate_power {

// One device, sample by sample in time order, in constant memory. Power is linear between samples
// and interpolated at the window's edges. Readings with the same stamp are averaged exactly: some
// tools stamp more coarsely than they sample.
class DeviceIntegrator {
 public:
  explicit DeviceIntegrator(Window window) : window_(window) {}

  // The next sample, not before the one added last.
  void add(double unix_s, double watts) {
    if (has_stamp_ && unix_s == stamp_.unix_s) {
      if (!same_stamp_) {
        same_stamp_ = std::make_unique<ExactMean>();
        same_stamp_->add(stamp_.watts);
      }
      same_stamp_->add(watts);
      return;
    }
    if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
    stamp_ = {unix_s, watts};
    has_stamp_ = true;
  }

  // The same for many, with the same result.
  void add(std::span<const Sample> samples) {
    while (!samples.empty()) {
      samples = samples.subspan(add_steady(samples));
      if (samples.empty()) return;
      add(samples.front().unix_s, samples.front().watts);
      samples = samples.subspan(1);
    }
  }
  // Whether a sample of this time is too late to be added.
  bool is_behind(double unix_s) const { return has_stamp_ && unix_s < stamp_.unix_s; }

  // Such samples are most likely a sensor's fault.
  static bool is_odd(double watts) { return watts > kMostUsualWatts || watts == 0; }

  DeviceEnergy finish();
  // After finish(): whether all samples are of 0 W.
  bool has_only_zeros() const { return result_.samples > 0 && zeros_ == result_.samples; }

 private:
  std::size_t add_steady(std::span<const Sample> samples);
  Sample finished_stamp();
  void take(Sample sample) {
    if (is_steady_ && sample.unix_s < window_.end_unix_s) {
      ++result_.samples;
      const double gap_s = sample.unix_s - before_.unix_s;
      if (gap_s > result_.max_sample_gap_s) result_.max_sample_gap_s = gap_s;
      note_if_odd(sample);
      result_.energy_j += trapezoid_j(before_, sample);
      before_ = sample;
    } else {
      take_near_edge(sample);
    }
  }
  // contract.md B.4, in this order: other orders differ in the last bit.
  static double trapezoid_j(Sample left, Sample right) {
    return (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2.0;
  }
  void take_near_edge(Sample sample);
  // Before `before_` becomes the sample.
  void note_if_odd(Sample sample) {
    if (is_odd(sample.watts) || zeros_ > 0) note_odd(sample);
  }
  void note_odd(Sample sample);
  void integrate_to(Sample sample);

  // The members that each sample needs come first, side by side: there may be thousands of devices.
  Window window_;
  Sample stamp_;   // the newest stamp; may get more readings
  Sample before_;  // the sample before it
  bool has_stamp_ = false;
  bool inside_ = false;     // past the window's start
  bool is_steady_ = false;  // and past a sample inside it, but not past its end
  bool done_ = false;       // past the window's end
  bool is_on_before_zeros_ = false;
  std::uint32_t zeros_ = 0;                // in a row, up to the sample before
  std::unique_ptr<ExactMean> same_stamp_;  // mean of its readings if there are several; large
  DeviceEnergy result_;
  Sample point_;  // where the integrated energy ends
};

}  // namespace aggregate_power
