// What one recording says of its GPUs' energy beyond the contract: readings, counters, models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/provenance.h"
#include "aggregate_power/sample.h"
#include "energy/reading_gatherer.h"
#include "recorders/recording.h"
#include "runs/counters.h"

namespace aggregate_power {

struct SensorReadings {
  std::vector<GatheredReadings> gpus;
  std::vector<DeviceCounter> counters;  // of the same names
  SeriesFacts series;
  std::vector<std::string> models;  // that the recording, or a file beside it, names
  std::string models_from;          // "name_column", "label", "identity_file"; empty: nothing
};

// Sets which models the series, or a file beside the recording, names. Never throws because of what
// is beside it.
void find_models(const Recording& recording, SensorReadings& readings);

// `gathered` is from the recording. Never throws because of what is beside it.
SensorReadings sensor_readings(const Recording& recording, Window window,
                               std::vector<GatheredReadings> gathered, const SeriesFacts& series);

}  // namespace aggregate_power
