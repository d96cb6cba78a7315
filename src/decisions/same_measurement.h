// Which published runs are copies of one measurement.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "decisions/published_run.h"

namespace aggregate_power {

// When it began, how long it took, a value that was measured, and the GPUs by id, UUID and host.
using MeasurementIdentity = std::tuple<double, double, double, std::vector<std::string>,
                                       std::vector<std::string>, std::vector<std::string>>;

// Equal for copies alone: two runs on the same GPUs do not begin at the same instant. Nullopt: it
// is not known when the run began.
std::optional<MeasurementIdentity> measurement_identity(const PublishedRun& run, double value);

}  // namespace aggregate_power
