// What is understood of the sensors behind a recording, and what the recording itself shows of
// them: for `inspect --sensor`.
#pragma once

#include <string>
#include <vector>

#include "base/report/json_parts.h"
#include "energy/gather.h"
#include "recorders/recording.h"

namespace aggregate_power {

struct GpuSensorsReport {
  std::string text;
  Json json;
};

// `gpus` are all readings of the recording. `gpu` is the model by the user; empty: as the files
// say. May throw FileError.
GpuSensorsReport inspect_gpu_sensors(const Recording& recording, const SeriesFacts& series,
                                     std::vector<GatheredReadings> gpus, const std::string& gpu);

}  // namespace aggregate_power
