// What can be said of a load from its power in a window. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregate_power/sample.h"
#include "core/energy/curve.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/readings.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

// steady_state or not_steady: whether every mean over a tenth of the window, after its first 5 s
// (or its first tenth if that is shorter), is within 3 % of the mean of all of them. The detail of
// not_steady has the largest deviation and the trend.
Verdict steadiness(std::span<const PowerLine> gpus, Window window);

// Whether at least half of the window is above 94 % of the limit, or, by the recorder's own column,
// limited by it.
bool is_power_capped(std::span<const Sample> samples, const GpuConditions& conditions,
                     Window window);

// throttled: a column says so for at least 1 % of the window. throttling_suspected: no column says
// anything, the GPU was busy throughout, and the last third is at least 8 % below the first.
// Nullopt: neither.
std::optional<std::string> throttling(const PowerLine& line, const GpuConditions& conditions,
                                      Window window);

// The second half of the window is not like the first, and the temperature explains it: at the same
// utilization the mean temperature changes by 3 degrees or more, and with it, as silicon does, the
// power by at most 0.5 % a degree and more than its tenths differ by chance (a t of 3), or the
// clock the other way. Nullopt: nothing says so, or the load itself changes.
std::optional<std::string> thermal_drift(const PowerLine& line, const GpuConditions& conditions,
                                         Window window);

// Standard deviation over mean of the samples in the window.
double variation(std::span<const Sample> samples, Window window);

// Moments of a power that varies by more than 8 %: a slow load, or the beat of a fast one.
bool is_under_sampled(const ReadingSeries& series, const SensorModel& sensor, Window window);

}  // namespace aggregate_power
