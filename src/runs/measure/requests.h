// What the requests of a run used, and what prefill and decode did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "energy/uncertainty/placed_interval.h"
#include "recorders/recording.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/seen_power.h"

namespace aggregate_power {

struct RequestRun {
  RequestOptions options;
  std::string load_file;  // lists the requests, unless the options name another file
  bool dry_run = false;
  std::vector<std::string> inputs = {};  // files that were read; none is overwritten
  std::vector<std::string> others = {};  // files that the run writes itself
  std::string gpu = {};                  // model of the GPUs by the user; empty: as files say
  std::string hardware = {};             // what the aggregate calls them; empty: nothing
};

// The energy of the placed requests for which `counts` is true, by the run's way of sharing, in
// joules, with bounds of 95 %. Returns nullopt if the power is not shared.
struct GroupEnergy {
  double joules = 0;
  std::optional<Interval> bounds = {};  // absent: the energy has none, or no sensor is known
  double whole_j = 0;                   // of the window
};
std::optional<GroupEnergy> energy_of_requests(const RequestRun& run, const Recording& recording,
                                              const SeenPower& power, const Result& result,
                                              std::vector<RequestTimes> requests,
                                              const std::vector<bool>& counts);

// The same of a run that was published, for which its recording is read; each request in flight has
// an equal share. `hardware`: what the aggregate calls the GPUs. Throws FileError and
// TelemetryError.
std::optional<GroupEnergy> energy_of_published_requests(const Recording& recording, Window window,
                                                        const std::string& hardware,
                                                        std::vector<RequestTimes> requests,
                                                        const std::vector<bool>& counts,
                                                        const std::optional<WholeEnergy>& whole);

// What the run asks about the requests of a load.
RequestRun requests_of(const RunSpec& run, const std::string& load_file,
                       std::vector<std::string> inputs, std::vector<std::string> others);

// Throws Error if the new file is one of the others, which must be known before any is written.
void check_request_files(const RequestRun& run);

// Adds to a run that was measured, and whose power was seen meanwhile, what the options ask for,
// and writes a line for each request. A run that is not valid gets none, and an empty file. Throws
// Error if there are no requests to read, and FileError.
void add_request_energy(const RequestRun& run, const Recording& recording, const SeenPower& power,
                        Result& result);

// The same for a run that could not be measured, or whose requests could not be; writes nothing.
void refuse_request_energy(const RequestOptions& options, Result& result,
                           const std::string& reason = "power_not_valid");

}  // namespace aggregate_power
