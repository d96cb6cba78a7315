// One run of a package: checked, recorded, patched and reported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "packages/check.h"
#include "results/deliver.h"
#include "runs/failed_requests.h"

namespace aggregate_power {

struct PackageRun {
  PackageQuestion question;                              // the result that it names is opened here
  std::optional<FailedRequestsRequest> failed_requests;  // of agents
  std::string window_source;                             // for the record; empty: a result
  // Where the two files go, and inputs that are neither of the package nor the result itself.
  WritePlan target;
  std::vector<std::string> warnings;
  DeliveryOptions delivery;
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput deliver_package(PackageRun run);

}  // namespace aggregate_power
