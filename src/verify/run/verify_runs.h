// Verifies the runs that a caller names, by their audit records.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "verify/run/verification.h"

namespace aggregate_power {

struct RunsRequest {
  // Folders with runs at any depth, aggregates, audit records; normal paths.
  std::vector<std::string> places;
  StoreAccess access = {};
  std::size_t most_threads = 1;
};

// Changes nothing. An aggregate that claims power and has no record is a fault, and so
// are places without any run. Throws FileError
// if a place cannot be opened.
Verification verify_runs(const RunsRequest& request);

}  // namespace aggregate_power
