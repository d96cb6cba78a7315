// The result of a run whose nodes recorded their own GPUs: a native package, checked against a
// benchmark result. Contract-october.md 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "core/load/load_files.h"
#include "packages/native/node.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/gpu_work.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {

struct NativeQuestion {
  NativePlace place;
  std::string result_name;           // the benchmark result's name, for messages
  std::optional<OpenedFile> result;  // nullopt: it cannot be opened
  std::string result_fault;          // why it cannot be opened
  std::optional<LoadReading> load;   // known already: the result is not read
  RoleCounts gpus;
  RunOptions run = {};        // contract, extended, and the extras
  std::string hardware = {};  // what the aggregate calls the GPUs; empty: nothing
};

// Nothing stops the checks: all that is wrong is a reason. Never throws because of the files.
Result check_native(const NativeQuestion& question);

// ---- Reads the nodes of a native package: what each recorded, with its GPUs identified.

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

// ---- Adds up what the GPUs of several nodes drew, together and by role.

struct NodeFleet {
  const FleetMeasurement& fleet;
};

// All nodes together, on one clock. The curve is for a valid run, in which every node has one.
FleetMeasurement fleet_of_all(std::span<const NodeFleet> nodes, Window window, bool with_curve);

struct NodeGpu {
  Role role;
  double energy_j;
};

// Sets the metrics of a valid run, by its load and fleet and by the energies of its GPUs, which are
// added in this order. `contract` gives the order of the metrics. One that is too large for a
// number is a reason.
void add_node_metrics(std::span<const NodeGpu> gpus, Contract contract, Result& result);

}  // namespace aggregate_power
