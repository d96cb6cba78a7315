// One host of several: its recording to what that says about the window, and who its GPUs are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "energy/clock_offset.h"
#include "energy/integrate.h"
#include "runs/host_folders.h"
#include "runs/run_options.h"

namespace aggregate_power {

struct HostReadingOptions : RunOptions {
  double clock_offset_s = 0;  // to be added to the host's stamps
};

// What was found of one host.
struct HostReading {
  HostResult host;
  Integration integration;  // by the names that the recording has; as host.gpus
  // As integration.boundary_degenerate_rows, with the GPUs known as far as those above.
  std::vector<std::pair<RecordedGpu, std::uint64_t>> boundary_degenerate_rows;
  FleetMeasurement fleet;   // of --extended, by the host's own clock
  Reasons identity_faults;  // not yet among the host's reasons
  Reasons column_faults;    // Measurement's
  LoadEdges edges;          // by its clock as it was corrected
  std::vector<std::string> hints;
  std::vector<std::string> warnings;
};

// Never throws for what is wrong with the recording or its identity file: that is a reason.
HostReading read_host(const HostFile& file, const Load& load, const HostReadingOptions& options);

// The recording, and all that counts when it stands beside it.
std::vector<std::string> files_of_host(const HostFile& file);

}  // namespace aggregate_power
