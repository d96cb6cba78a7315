// Fits an exponential to temperatures.
#include "energy/shares/cooling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace aggregate_power {
namespace {

constexpr double kLeastFallC = 5;
constexpr std::size_t kLeastTailReadings = 8;
constexpr double kLeastTail = std::numbers::ln2;  // of a time constant: half of the fall
constexpr double kMostTimeConstant_s = 2000;

std::optional<double> mean_celsius(std::span<const Temperature> readings, Window window) {
  double sum = 0;
  double count = 0;
  for (const Temperature& one : readings) {
    if (one.unix_s < window.start_unix_s || one.unix_s > window.end_unix_s) continue;
    sum += one.celsius;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

struct CoolingFit {
  double rest_c = 0;
  double excess_c = 0;  // when the load ends
  double squares = std::numeric_limits<double>::infinity();
};

// Least squares of rest + excess exp(-t / constant); the rest may be known.
CoolingFit cooling_fit(std::span<const Temperature> tail, double end_unix_s, double constant_s,
                       std::optional<double> rest_c) {
  double n = 0, e = 0, ee = 0, c = 0, ce = 0;
  for (const Temperature& one : tail) {
    const double decay = std::exp(-(one.unix_s - end_unix_s) / constant_s);
    n += 1;
    e += decay;
    ee += decay * decay;
    c += one.celsius;
    ce += one.celsius * decay;
  }
  CoolingFit fit;
  fit.excess_c = rest_c ? (ce - *rest_c * e) / ee : (ce - c * e / n) / (ee - e * e / n);
  fit.rest_c = rest_c.value_or((c - fit.excess_c * e) / n);
  fit.squares = 0;
  for (const Temperature& one : tail) {
    const double decay = std::exp(-(one.unix_s - end_unix_s) / constant_s);
    const double off = one.celsius - fit.rest_c - fit.excess_c * decay;
    fit.squares += off * off;
  }
  return fit;
}

void fit_cooling(std::span<const Temperature> tail, double end_unix_s, ThermalCourse& course) {
  CoolingFit best;
  for (double constant_s = 2; constant_s <= kMostTimeConstant_s; constant_s *= 1.02) {
    const CoolingFit fit = cooling_fit(tail, end_unix_s, constant_s, course.before_c);
    if (!(fit.squares < best.squares)) continue;
    best = fit;
    course.time_constant_s = constant_s;
  }
  if (!std::isfinite(best.squares)) {
    course.unknown = "no exponential fits the temperatures after the load";
    return;
  }
  if (tail.back().unix_s - end_unix_s < kLeastTail * course.time_constant_s) {
    course.unknown = "the recording ends before the GPUs have cooled down by half";
    return;
  }
  course.cooling_s =
      course.time_constant_s * std::log(std::max(1.0, best.excess_c / kSameTemperatureC));
}

}  // namespace

ThermalCourse thermal_course(std::span<const Temperature> readings, Window load) {
  ThermalCourse course;
  const double middle_unix_s = (load.start_unix_s + load.end_unix_s) / 2;
  constexpr double kAny_s = 1e6;
  course.before_c = mean_celsius(readings, {load.start_unix_s - kAny_s, load.start_unix_s - 1});
  course.first_half_c = mean_celsius(readings, {load.start_unix_s, middle_unix_s});
  course.second_half_c = mean_celsius(readings, {middle_unix_s, load.end_unix_s});
  const auto after = std::ranges::upper_bound(readings, load.end_unix_s, {}, &Temperature::unix_s);
  const std::span<const Temperature> tail(after, readings.end());
  if (tail.size() < kLeastTailReadings) {
    course.unknown = "nothing is recorded after the load";
  } else if (tail.front().celsius - tail.back().celsius < kLeastFallC) {
    course.unknown = "the temperature falls by less than 5 degrees after the load";
  } else {
    fit_cooling(tail, load.end_unix_s, course);
  }
  return course;
}

}  // namespace aggregate_power
