// The verdict on a package of several nodes by itself.
#pragma once

#include "runs/inspect.h"

namespace aggregate_power {

// `request.file` is the package's folder, or the log directory with the folder `power`. Status 1:
// it is not publishable.
InspectReport inspect_package(const InspectRequest& request);

}  // namespace aggregate_power
