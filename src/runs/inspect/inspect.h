// How a telemetry file is understood: as text for people, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct InspectRequest : RecordingOptions {
  std::string file;          // normal path; "-": standard input
  std::string bench_result;  // empty: no window to show
  bool json = false;
  bool validates = false;      // a package of several nodes, by itself
  std::string logs_root = {};  // of that package; empty: the folder that it is in
  Contract contract = Contract::october;
  bool with_sensors = false;  // also what is understood of the GPUs' sensors
  std::string gpu = {};       // their model; empty: as the files say
};

struct InspectReport {
  int exit_status = 0;  // 0: a power series was read; 1: it was not; 2: the file cannot be opened
  std::string out;
  std::vector<std::string> err;
};

InspectReport inspect(const InspectRequest& request);

}  // namespace aggregate_power
