// Assesses one run by itself: what the options leave to be found is found in its own files.
#pragma once

#include <string>

#include "loads/load_files.h"
#include "recorders/recording.h"
#include "runs/measurement.h"

namespace aggregate_power {

// The files of the run besides its recording; normal paths.
struct FilesBeside {
  std::string load;
  std::string aggregate;
};

// How many GPUs the aggregate says that the run used; nullopt: it does not, or cannot be read,
// which is reported when it is patched.
std::optional<std::int64_t> gpus_in_aggregate(const std::string& aggregate);

// What the aggregate calls the GPUs; empty: it cannot be read, or does not say.
std::string hardware_in(const std::string& aggregate);

// As assess(), but finds the number of GPUs and the zone first, if the request says so, and adds
// idle power and an interval of the energy, unless the caller takes the readings for that.
Result assess_alone(MeasurementRequest request, Recording& recording, const LoadReading& reading,
                    const FilesBeside& files);

}  // namespace aggregate_power
