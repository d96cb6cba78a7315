// Which sensor the readings of a recording are of, as far as its files say.
#pragma once

#include <string>
#include <vector>

#include "energy/uncertainty/sensor_table.h"
#include "runs/measure/sensor_readings.h"

namespace aggregate_power {

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
