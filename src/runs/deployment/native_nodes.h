// Reads the nodes of a native package: what each recorded, with its GPUs identified.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "packages/native/node.h"
#include "runs/measure/gpu_work.h"
#include "runs/measure/sensor_readings.h"

namespace aggregate_power {

// A selected GPU that has readings in or near the window.
struct NativeGpuReading {
  std::string uuid;
  DeviceEnergy energy;
  std::optional<Reason> issue;
};

struct NativeReading {
  NativeNode node;
  HostResult host;  // how the recording was understood
  std::vector<NativeGpuReading> gpus;
  std::vector<std::pair<std::string, std::uint64_t>> boundary_degenerate_rows;  // by UUID
  FleetMeasurement fleet;
  std::vector<GpuLimit> limits;  // by UUID
  SensorReadings sensors;        // if they are wanted, by UUID
  Reasons recording_faults;      // rows of unknown GPUs, or why the recording could not be used
  Reasons power_faults;          // of rows and GPUs, as for any recording
  std::vector<std::string> warnings;
  runs::GpusAtWork work;  // names with the node's folder
};

struct NativeReadingOptions {
  RowKeys keys = RowKeys::seed;       // what they need is measured, too
  bool with_sensors = false;          // NativeReading::sensors, too
  bool salvage = false;               // also of a recording that lacks nothing but samples
  std::vector<Reason> accepted = {};  // these do not count
};

// Without a load only the manifests and identities are read. Never throws because of the files.
std::vector<NativeReading> read_native_nodes(const NativePlace& place,
                                             const std::optional<Load>& load,
                                             NativeReadingOptions options);

}  // namespace aggregate_power
