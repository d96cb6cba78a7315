// What the energy of a recording was used for, by the events of a profiler's trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generators/gpu_trace.h"
#include "runs/attribute/report.h"
#include "runs/evaluate/run_options.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {

struct AttributeRequest : RunOptions {
  std::vector<std::string> telemetry;  // normal paths
  std::vector<std::string> traces;     // normal paths
  std::string by;                      // empty: kernel, or layer for a CSV of layers
  AttributionOrder order = AttributionOrder::energy;
  bool whole_recording = false;  // else from the first to the last event
  std::uint64_t warm_up = 0;     // iterations that are not measured ones
  bool lists_calls = false;      // AttributionReport::calls are wanted
};

// Throws Error, or FileError if a file cannot be opened.
AttributionReport attribute_run(const AttributeRequest& request);

// ---- Which GPU of a recording each device of a trace is.

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
