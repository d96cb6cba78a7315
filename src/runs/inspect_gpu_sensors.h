// What is understood of the sensors behind a recording, and what the recording itself shows of
// them: for `inspect --sensor`.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "recorders/recording.h"

namespace aggregate_power {

struct GpuSensorsReport {
  std::string text;
  nlohmann::ordered_json json;
};

// `gpu` is the model by the user; empty: as the files say. May throw TelemetryError and FileError.
GpuSensorsReport inspect_gpu_sensors(const Recording& recording, const std::string& gpu);

}  // namespace aggregate_power
