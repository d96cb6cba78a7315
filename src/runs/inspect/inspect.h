// How a telemetry file is understood: as text for people, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/report/json_parts.h"
#include "core/telemetry/telemetry.h"
#include "energy/shares/cooling.h"
#include "energy/uncertainty/gather.h"
#include "recorders/recording.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct InspectRequest : RecordingOptions {
  std::string file;          // normal path; "-": standard input
  std::string bench_result;  // empty: no window to show
  bool json = false;
  bool validates = false;      // a package of several nodes, by itself
  std::string logs_root = {};  // of that package; empty: the folder that it is in
  Contract contract = Contract::october;
  bool per_process = false;   // also what each process used; AIPowerMeter's recordings only
  bool with_sensors = false;  // also what is understood of the GPUs' sensors
  std::string gpu = {};       // their model; empty: as the files say
};

struct InspectReport {
  int exit_status = 0;  // 0: a power series was read; 1: it was not; 2: the file cannot be opened
  std::string out;
  std::vector<std::string> err;
};

InspectReport inspect(const InspectRequest& request);

// ---- What speaks for and against a measurement, before it is made.

struct CheckupRequest : RecordingOptions {
  std::string telemetry;                        // normal path; empty: this machine is checked
  double window_s = 60;                         // of the runs to come
  std::optional<double> shortest_phase_s = {};  // that is to be told apart
  std::string gpu = {};                         // model of the GPUs; empty: as the files say
};

struct CheckupItem {
  enum class Status { ok, advice, problem };
  std::string name;
  Status status = Status::ok;
  std::string found;
  std::string advice = {};  // what to change; empty: nothing
};
using Checkup = std::vector<CheckupItem>;

// Throws FileError if the recording cannot be opened.
Checkup check_recording(const CheckupRequest& request);
// Asks the tools that $PATH leads to, each for a bounded time.
Checkup check_machine();

// The load of a recording, as the question how well its energy is known.
struct RecordedQuestion {
  std::string fault;  // why there is none; empty: there is one
  EstimateQuestion load = {};
  std::string sensor = {};                    // whose readings they are, for people
  std::optional<ThermalCourse> thermal = {};  // of the hottest GPU
};
RecordedQuestion recorded_question(const CheckupRequest& request);

bool has_problem(const Checkup& checkup);
std::string checkup_text(const Checkup& checkup);
std::string checkup_json(const Checkup& checkup);

// ---- The parts of what `inspect` shows: each kind of file, and the sensors of a recording.

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

// The metrics of a recording of AIPowerMeter by CPU, GPU and experiment, and what each process used
// of them if that is asked for. May throw FileError.
BesideReport inspect_metrics(const InspectRequest& request, const Recording& recording,
                             const Zone& zone);

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

// `request.file` is the package's folder, or the log directory with the folder `power`. The report
// has the text, and `json` becomes the object. Status 1: it is not publishable.
InspectReport inspect_package(const InspectRequest& request, Json& json);

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
