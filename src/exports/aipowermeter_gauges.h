// The five gauges that AIPowerMeter serves on port 5001, under its own names.
#pragma once

#include <string>
#include <vector>

#include "exports/exported.h"
#include "exports/metric_families.h"

namespace aggregate_power {

// Whether a path leads to a recording of AIPowerMeter's own. Throws FileError.
bool is_aipowermeter_recording(const std::string& path);

// Of valid runs, what is known of the five: power_draw_gpu, the mean power of all GPUs. Of
// recordings their last record, as the server showed it: all five, as far as it has them. Throws
// FileError.
std::vector<GaugeFamily> aipowermeter_gauges(const Exported& exported,
                                             const std::vector<std::string>& recordings);

}  // namespace aggregate_power
