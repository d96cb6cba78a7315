// What says how much energy one GPU used in a window: its counter if it can, else its power.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "energy/counter_trace.h"
#include "energy/trace_coverage.h"
#include "results/window_report.h"
#include "runs/traces.h"

namespace aggregate_power {

struct MeterOptions {
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  double most_w = kMostMeanWatts;                // PlausibleWatts'
  double limit_w = 0;                            // of this GPU; 0: unknown
  bool is_of_module = false;                     // counters also have the processor and the memory
  bool only_checks = false;                      // its counter does not measure: CounterUnit
  PowerUnit::Size unit = PowerUnit::Size::watt;  // as bare numbers were read
};

class WindowMeter {
 public:
  // `power` is null if only the counter was recorded; it must outlive this object.
  WindowMeter(std::string gpu, const PowerTrace* power, std::optional<CounterTrace> counter,
              const MeterOptions& options);

  const std::string& gpu() const { return gpu_; }
  // `own` is the window without those inside it.
  GpuWindow measure(Window window, const std::vector<Window>& own) const;
  // The energy of a part of a window that was measured, by the source that measured it.
  double energy_in_part(Window part, const GpuWindow& whole) const;

 private:
  GpuWindow by_power(Window window, const std::vector<Window>& own) const;
  bool is_refuted(Window window, const GpuWindow& gpu) const;
  std::string counter_fault(Window window, const GpuWindow& gpu) const;

  std::string gpu_;
  const PowerTrace* power_;
  std::optional<TraceCoverage> coverage_;  // nullopt: no power
  std::optional<CounterTrace> counter_;
  double max_sample_gap_s_;
  double most_w_;
  double limit_w_;
  bool is_of_module_;
  bool only_checks_;
  PowerUnit::Size unit_;
};

// One for each GPU of the recordings, in the order of their names. The counters are moved from. The
// traces must outlive them.
std::vector<WindowMeter> meters_of(Traces& traces, double max_sample_gap_s);

}  // namespace aggregate_power
