// Energy of GPUs over one window, and whether the samples suffice for it. Pure arithmetic: no
// files, no clock, no printing. Contract.md B.3 and B.4.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/provenance.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/boundary_rows.h"
#include "energy/exact_mean.h"
#include "energy/plausibility.h"
#include "energy/unplaced_rows.h"

namespace aggregate_power {

// One device, sample by sample in time order, in constant memory. Power is linear between samples
// and interpolated at the window's edges. Readings with the same stamp are averaged exactly: some
// tools stamp more coarsely than they sample.
class DeviceIntegrator {
 public:
  explicit DeviceIntegrator(Window window) : window_(window) {}

  // Returns false if the stamp is earlier than the previous one: then start over with sorted
  // samples.
  bool add(double unix_s, double watts) {
    if (has_stamp_ && unix_s <= stamp_.unix_s) {
      if (unix_s < stamp_.unix_s) return false;
      if (!same_stamp_) {
        same_stamp_ = std::make_unique<ExactMean>();
        same_stamp_->add(stamp_.watts);
      }
      same_stamp_->add(watts);
      return true;
    }
    if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
    stamp_ = {unix_s, watts};
    has_stamp_ = true;
    return true;
  }

  // Adds readings from the front as long as they are of one device, have power, and are each later
  // than the one before and before the window's end, once that is all that matters: returns how
  // many. They are alike, so what changes can stay in registers.
  std::size_t add_steady(std::span<const Reading> readings);

  DeviceEnergy finish();

 private:
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
  static bool is_odd(double watts) { return watts > kMostBoardWatts || watts == 0; }
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

struct IntegrationOptions {
  Window window;
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  Contract contract = Contract::october;
  bool is_power = true;  // false: another quantity, which may be 0 outside the window too
};

struct Integration {
  Reasons reasons;
  std::optional<std::int64_t> expected_num_gpus;
  std::vector<std::string> gpu_ids;  // in the original's sort order, like all that follows
  std::vector<DeviceEnergy> gpus;
  std::vector<std::optional<Reason>> issues;
  BoundaryRows::ByName boundary_degenerate_rows;
  // Set if every GPU is bracketed.
  std::optional<double> total_gpu_energy_j;
  std::optional<double> avg_total_gpu_power_w;
  std::optional<double> avg_power_w;  // per GPU
};

// All devices of one telemetry file. Only readings up to `max_sample_gap_s` before and after the
// window count, outside the window only those above 0 W. A bad stamp counts unless it is clearly
// elsewhere; in August it counts wherever it is.
class PowerIntegrator final : public Analysis {
 public:
  explicit PowerIntegrator(const IntegrationOptions& options);

  Wants wants() const override { return {.order = Order::by_time, .window = band_}; }
  void take(std::span<const Reading> readings) override;
  // A device's stamps went backwards, so its energy is not right. After start_over(), which keeps
  // the other findings, take the readings of the band again, sorted.
  bool out_of_order() const override { return out_of_order_; }
  void start_over() override;
  // For a reading that broke off: what was found until then, and why it ended.
  Integration abandon(Reason reason, std::string detail,
                      std::span<const std::string> devices) const;
  // Sorts the devices by name and judges them. `devices` are the names by Reading::device.
  Integration finish(std::span<const std::string> devices);

 private:
  bool take_one(const Reading& reading);
  std::size_t take_steady(std::span<const Reading> readings);
  void note_place(const Reading& reading);
  void take_bad_stamp();
  void take_power(const Reading& reading);
  void meet(std::uint32_t device);
  void take_no_power(const Reading& reading);
  Integration unfinished(std::span<const std::string> devices) const;

  IntegrationOptions options_;
  Window band_;
  std::vector<std::optional<DeviceIntegrator>> integrators_;  // by device
  std::vector<std::uint32_t> met_;  // devices, in the order of their first sample in the file
  BoundaryRows boundary_rows_;
  UnplacedRows unplaced_rows_;
  Reasons reasons_;
  bool missing_identity_ = false;
  bool out_of_order_ = false;
  bool is_second_pass_ = false;
};

}  // namespace aggregate_power
