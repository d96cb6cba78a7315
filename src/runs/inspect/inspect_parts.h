// The parts of what `inspect` shows: each kind of file, and the sensors of a recording.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/report/json_parts.h"
#include "energy/uncertainty/gather.h"
#include "recorders/recording.h"
#include "core/telemetry/telemetry.h"
#include "runs/inspect/inspect.h"

namespace aggregate_power {

// ---- What is beside a recording of AIPowerMeter, and what follows from both
//
// latency.csv has the seconds of each inference, model_summary.json the size of the model, and
// omegawatt.csv the power at the wall.

struct BesideReport {
  std::string text;
  Json json;
};

// `sensors` are those of the recording. Returns nullopt if none of these files is there. A file
// that cannot be used is reported as such; nothing is thrown because of it.
std::optional<BesideReport> inspect_beside(const InspectRequest& request,
                                           const std::vector<SensorEnergy>& sensors);

// ---- What is understood of the sensors behind a recording, and what the recording itself shows of
// them: for `inspect --sensor`.

struct GpuSensorsReport {
  std::string text;
  Json json;
};

// `gpus` are all readings of the recording. `gpu` is the model by the user; empty: as the files
// say. May throw FileError.
GpuSensorsReport inspect_gpu_sensors(const Recording& recording, const SeriesFacts& series,
                                     std::vector<GatheredReadings> gpus, const std::string& gpu);

// ---- The verdict on a package of several nodes by itself

namespace runs {

// `request.file` is the package's folder, or the log directory with the folder `power`. The report
// has the text, and `json` becomes the object. Status 1: it is not publishable.
InspectReport inspect_package(const InspectRequest& request, Json& json);

}  // namespace runs

// ---- How the result of a load generator is understood

// Returns nullopt if the file is not recognized as a result: then it may be telemetry. Throws
// FileError.
std::optional<InspectReport> inspect_result(const InspectRequest& request);

// What a JSON file is that is neither a result nor telemetry, for people: with its top-level keys.
// Returns nullopt for any other file. Throws FileError.
std::optional<std::string> unrecognized_json(const std::string& path);

// What a file is that this program wrote as JSON; nullopt: it did not. Throws FileError.
std::optional<InspectReport> inspect_own_file(const InspectRequest& request);

// ---- How a log of windows is understood that has energies of its own

// Returns nullopt if the file is not a CSV of Zeus. Throws FileError.
std::optional<InspectReport> inspect_windows_log(const InspectRequest& request);

// ---- What each sensor of a recording used, and the sums that its recorder states of them

// Total, mean and highest; the energy by segments, if there are several; and the sums. Empty
// without sensors.
std::string sensors_text(const std::vector<SensorEnergy>& sensors,
                         const std::vector<SensorSum>& sums);
Json sensors_json(const std::vector<SensorEnergy>& sensors, const std::vector<SensorSum>& sums);

}  // namespace aggregate_power
