// The GPUs of a point, with their nodes, UUIDs and roles, from its audit record and the files
// beside it.
#pragma once

#include <optional>
#include <vector>

#include "publication/point_checks.h"
#include "publication/point_evidence.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {

// In the record's order. What is wrong with one is among the faults; it is then left out. Returns
// nullopt if the files that name them are not there, which is a fault of the telemetry. May throw
// FileError.
std::optional<std::vector<Device>> devices_of(const Evidence& evidence, const RequiredPoint& point,
                                              const PointEvidence& found, PointFaults& faults);

}  // namespace aggregate_power
