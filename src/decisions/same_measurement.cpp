// Puts together what tells measurements apart.
#include "decisions/same_measurement.h"

namespace aggregate_power {

std::optional<MeasurementIdentity> measurement_identity(const PublishedRun& run, double value) {
  if (run.start_unix_s == 0) return std::nullopt;
  return MeasurementIdentity{run.start_unix_s, run.duration_s, value,
                             run.gpu_ids,      run.gpu_uuids,  run.hosts};
}

}  // namespace aggregate_power
