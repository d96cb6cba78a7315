// What the requests of a run used, and what prefill and decode did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "energy/sensor_model.h"
#include "recorders/recording.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The bounds of an energy over that energy.
struct RelativeBounds {
  double low = 1;
  double high = 1;
};

struct RequestRun {
  RequestOptions options;
  std::string load_file;  // lists the requests, unless the options name another file
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  bool dry_run = false;
  std::vector<std::string> inputs = {};  // files that were read; none is overwritten
  std::vector<std::string> others = {};  // files that the run writes itself
  // What the sensors' readings may be a mean of; empty: as the recording says.
  std::vector<SensorModel> sensors = {};
  std::optional<RelativeBounds> bounds = {};  // of the run's energy; nullopt: unknown
};

// Throws Error if the new file is one of the others, which must be known before any is written.
void check_request_files(const RequestRun& run);

// Adds to a run that was measured what the options ask for, and writes a line for each request. A
// run that is not valid gets none, and an empty file. Throws Error if there are no requests to
// read, and FileError.
void add_request_energy(const RequestRun& run, const Recording& recording, Result& result);

// The same for a run that could not be measured; writes nothing.
void refuse_request_energy(const RequestOptions& options, Result& result);

}  // namespace aggregate_power
