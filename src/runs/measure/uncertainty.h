// What the sensors of a run are, and what their readings say of its energy.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "core/energy/integrate.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/gather.h"
#include "energy/uncertainty/sensor_table.h"
#include "recorders/recording.h"
#include "runs/evaluate/counters.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// ---- What one recording shows about its GPUs' energy beyond the contract: readings, counters,
// models.

// Files beside a recording that may name its GPUs' model; the first that does counts.
struct ModelFile {
  const char* role;
  const char* end;  // after the recording's stem
};
inline constexpr ModelFile kModelFiles[] = {{"gpu_identity_csv", "_identity.csv"},
                                            {"gpu_identity", "_identity.json"},
                                            {"gpu_devices", "_devices.json"}};

std::vector<std::string> model_files_beside(const std::string& recording);

struct SensorReadings {
  std::vector<GatheredReadings> gpus;
  std::map<std::string, double> published_j;  // by name; of the GPUs that count
  Stamps stamps = Stamps::query_time;
  std::vector<DeviceCounter> counters;  // of the same names
  SeriesFacts series;
  std::vector<std::string> models;  // that the recording, or a file beside it, names
  std::string models_from;          // "name_column", "label", "identity_file"; empty: nothing
  std::size_t hosts = 1;            // that these GPUs are on
};

// Sets which models the series, or a file beside the recording, names. Never throws because of what
// is beside it.
void find_models(const Recording& recording, SensorReadings& readings);

// `gathered` and `integration` are of the recording. Never throws because of what is beside it.
SensorReadings sensor_readings(const Recording& recording, Window window,
                               std::vector<GatheredReadings> gathered,
                               const Integration& integration, const SeriesFacts& series);

// What the options need of that, for an interval or for idle power; else nothing.
SensorReadings wanted_readings(const RunOptions& run, const Recording& recording, Window window,
                               std::vector<GatheredReadings> gathered,
                               const Integration& integration, const SeriesFacts& series);

// The models that a file beside a recording names.
std::vector<std::string> models_in(const std::string& text);

// The readings of a whole recording, with what its rows say of the GPUs.
struct AllReadings {
  Samples samples{kAlways};
  StateNotes notes{kAlways};

  // The next rows, with StateNotes::wanted().
  void take(const Batch& batch);
  // Call it once, after the last row. `names` are of the recording's devices.
  std::vector<GatheredReadings> finish(std::span<const std::string> names);
};

// Whether all stamps are cut to whole seconds. Those of scrapes and queries are exact.
Stamps stamps_of(std::span<const GatheredReadings> gpus, const SeriesFacts& series);

// Gives each GPU the name that the run has for it. Those without one are left out.
void rename_gpus(const std::map<std::string, std::string>& names, SensorReadings& readings);

// ---- Which sensor the readings of a recording are of, as far as its files say.

struct GpuModel {
  std::string name;        // empty: unknown
  std::string known_from;  // "name_column", "identity_file", "option", "aggregate"; empty: nothing
  std::string contradiction = {};  // of the option and the files, for people; empty: none
};

// `given` is by the user, `hardware` what the aggregate says; empty: nothing. What the recording
// says goes first.
GpuModel gpu_model(const SensorReadings& recording, const std::string& given,
                   const std::string& hardware);

KnownSensor understood_sensor(const SensorReadings& recording, const GpuModel& model);

// The same of a recording that is not gathered: by what its beginning and the files beside it say.
std::vector<SensorModel> sensor_models(const Recording& recording, const SeriesFacts& series,
                                       const std::string& given, const std::string& hardware,
                                       double period_s);

}  // namespace aggregate_power
