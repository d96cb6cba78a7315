// The hosts of a run: their folders, and the recording of each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "core/energy/integrate.h"
#include "core/telemetry/gpu_identity.h"
#include "energy/zones/clock_offset.h"
#include "recorders/recording.h"
#include "runs/evaluate/explain.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/gpu_work.h"
#include "runs/measure/series_doubts.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {

// ---- One host in a run on several hosts: what its recording says about the window, and its GPUs'
// identity.

// The findings about one host, on its clock as RunOptions::clock_offset_s corrects it.
struct HostReading {
  HostResult host;
  Integration integration;  // keyed by the recording's names; in the order of host.gpus
  // The same as integration.boundary_degenerate_rows, with the GPUs identified as above.
  std::vector<std::pair<RecordedGpu, std::uint64_t>> boundary_degenerate_rows;
  FleetMeasurement fleet;        // for --extended
  std::vector<GpuLimit> limits;  // by the recording's names
  Reasons accepted;              // reasons of the host that the caller accepts, and not among them
  Reasons identity_faults;       // not yet among the host's reasons
  Reasons column_faults;         // Measurement's
  GpusOfFile named;  // the GPUs that count, by all names that the recording has for them
  LoadEdges edges;
  SensorReadings sensors;  // wanted_readings()
  SeriesSink series = {.most = 256};
  runs::GpusAtWork work;  // names with the host
  std::vector<std::string> hints;
  std::vector<std::string> warnings;
};

// Never throws because of the recording or its identity file: problems with them are reasons.
HostReading read_host(const HostFile& file, const Load& load, const RunOptions& options);

// The UUIDs by index that a file beside the recording states; empty: none can be read.
GpuIdentity identity_beside(const Recording& recording);

// The recording, and all files beside it that matter.
std::vector<std::string> files_of_host(const HostFile& file);

}  // namespace aggregate_power
