// What may be asked of a run beyond the contract: idle power, and an interval of its energy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "recorders/recording.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {

struct ExtraInput {
  const RunOptions& run;
  // The readings around the load. The recordings' GPUs have names that differ.
  std::vector<SensorReadings> recordings;
  std::string hardware = {};             // what the aggregate calls the GPUs; empty: nothing
  const Recording* recording = nullptr;  // read again for a given stretch; null: there are several
  bool may_use_threads = false;
  bool bounds_sparse = false;  // the energy of readings that are all too far apart, for people
  std::optional<double> sensor_accuracy = {};  // as a calibration found it
};

// Sets what the options ask for; of a run that is not valid it says only that. Never throws because
// of a recording.
void add_extras(ExtraInput input, Result& result);

// The same for a run without power, or whose power is not known yet.
void refuse_extras(const RunOptions& run, Result& result);

// For a package, whose idle time is not looked for: the others, and why there is no idle power.
void add_extras_of_package(ExtraInput input, Result& result);

// ---- Each by itself

void add_calibration(ExtraInput& input, Result& result);
void refuse_calibration(const RunOptions& run, Result& result);
void add_idle(ExtraInput& input, Result& result);
void refuse_idle(const RunOptions& run, Result& result);
void refuse_idle_of_package(const RunOptions& run, Result& result);
void add_uncertainty(ExtraInput& input, Result& result);
// The interval itself, whether or not the run is valid, for a run with a load. Consumes the
// readings.
Uncertainty uncertainty_of(ExtraInput& input, const Result& result);
void refuse_uncertainty(const RunOptions& run, Result& result);
namespace runs {
void add_salvage(ExtraInput& input, Result& result);
void refuse_salvage(const RunOptions& run, Result& result);
}  // namespace runs

// ---- What --idle says, where the idle power of a run's GPUs is from

// What is wrong with a text that is none of "auto", "85", "85+-3", "85±3", and "START:END" with
// times as in a windows file; empty: it is one of these.
std::string idle_fault(const std::string& text);

// Throws Error if the text, one that was checked, is a stretch. `why` there is none: "is of one
// recording, and there are 2".
void refuse_idle_stretch(const std::string& text, const std::string& why);

}  // namespace aggregate_power
