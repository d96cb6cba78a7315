// Which GPU of a recording each device of a trace is.
#pragma once

#include <vector>

#include "generators/gpu_trace_part.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {

// A GPU, with what ran on it. The power's times count from the trace's origin, so that intervals of
// nanoseconds stay what they are.
struct AttributionLane {
  GpuTrace* trace = nullptr;
  std::int64_t number = 0;        // of the device, if it is not null
  TraceDevice* device = nullptr;  // null: a trace of the host alone, whose ranges are of all GPUs
  PowerTrace power;
};

// Devices are found by their numbers; where there is only one on both sides, they are the same; and
// with `gpus` the devices are these GPUs, in the order of traces and numbers. A trace of the host
// belongs to all GPUs of the recording. Throws Error if that is not clear. Takes the power.
std::vector<AttributionLane> attribution_lanes(std::vector<GpuTrace>& traces, Traces power,
                                               const GpuSelection& gpus);

}  // namespace aggregate_power
