// Opens the recording that the record of a run names, as it was read then.
#pragma once

#include <memory>

#include "base/text/json_value.h"
#include "recorders/recording.h"
#include "store/store_path.h"

namespace aggregate_power {

// `telemetry`: the recording, a file. `record`: the run's audit record, which says how its stamps
// and columns were understood. Throws FileError.
std::unique_ptr<Recording> recording_of_run(const StorePath& telemetry, const JsonValue& record);

}  // namespace aggregate_power
