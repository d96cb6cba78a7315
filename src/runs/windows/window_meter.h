// What says how much energy one GPU used in a window: its counter if it can, else its power.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/energy/counter_trace.h"
#include "core/energy/trace_coverage.h"
#include "runs/windows/window_report.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {

struct MeterOptions {
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  PowerBounds bounds = {};
  bool is_of_module = false;  // counters also have the processor and the memory
  bool only_checks = false;   // its counter does not measure: CounterUnit
};

// Whether a counter says that the energy of the power in a window is wrong.
bool is_refuted(const CounterTrace& counter, double power_j, Window window,
                const MeterOptions& options);

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
  std::string counter_fault(Window window, const GpuWindow& gpu) const;

  std::string gpu_;
  const PowerTrace* power_;
  std::optional<TraceCoverage> coverage_;  // nullopt: no power
  std::optional<CounterTrace> counter_;
  MeterOptions options_;
};

// One for each GPU of the recordings, in the order of their names. The counters are moved from. The
// traces must outlive them.
std::vector<WindowMeter> meters_of(Traces& traces, double max_sample_gap_s);

}  // namespace aggregate_power
