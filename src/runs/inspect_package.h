// The verdict on a package of several nodes by itself.
#pragma once

#include "base/report/json_parts.h"
#include "runs/inspect.h"

namespace aggregate_power::runs {

// `request.file` is the package's folder, or the log directory with the folder `power`. The report
// has the text, and `json` becomes the object. Status 1: it is not publishable.
InspectReport inspect_package(const InspectRequest& request, Json& json);

}  // namespace aggregate_power::runs
