// How GPUs warm up under a load, and how long they cool down after it. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregate_power/sample.h"

namespace aggregate_power {

struct Temperature {
  double unix_s = 0;
  double celsius = 0;
};

// Two temperatures that differ by less are the same: sensors show whole degrees.
inline constexpr double kSameTemperatureC = 1;

struct ThermalCourse {
  std::optional<double> before_c = {};      // mean before the load
  std::optional<double> first_half_c = {};  // means under load
  std::optional<double> second_half_c = {};
  // From the end of the load until the temperature is within 1 degree of its rest: the time
  // constant of an exponential fit to what follows the load, times the logarithm of the excess at
  // its end.
  std::optional<double> cooling_s = {};
  double time_constant_s = 0;
  std::string unknown = {};  // why cooling_s is not known, for people
};

// `readings` are of one GPU, in time order; `load` is the stretch under load. The rest is the mean
// before the load; where nothing is, it is fitted, too.
ThermalCourse thermal_course(std::span<const Temperature> readings, Window load);

}  // namespace aggregate_power
