// The checks of a point's aggregate and audit record against the matrix and each other: 1, 2, 4 to
// 8 of contract-october.md 5.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "publication/point_faults.h"
#include "publication/sweep_manifest.h"

namespace aggregate_power {

// A GPU as published.
struct Device {
  std::string node;
  std::string gpu_uuid;
  std::string role;  // aggregate, prefill, decode
  JsonValue energy_j;
};

// Whether two energies are equal but for rounding: within 1e-4 of the larger, or 0.01 J.
bool is_same_energy(double a_j, double b_j);

// Check 1: the aggregate's verdict and the metrics that it must have.
void check_aggregate(const RequiredPoint& point, const JsonValue& aggregate, PointFaults& faults);
// Check 2. Returns the number of GPUs that the matrix requires; nullopt if it does not say.
std::optional<std::int64_t> check_topology(const RequiredPoint& point, const JsonValue& aggregate,
                                           PointFaults& faults);
// Check 4: the record's verdict and window.
void check_verdict(const JsonValue& record, PointFaults& faults);
// Checks 5 to 8. Returns the number of GPUs to publish.
JsonValue check_devices(const RequiredPoint& point, const JsonValue& aggregate,
                        const JsonValue& record, const std::vector<Device>& devices,
                        std::optional<std::int64_t> required_gpus, PointFaults& faults);

}  // namespace aggregate_power
