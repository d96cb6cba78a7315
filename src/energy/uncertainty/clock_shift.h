// Whether the clock of a window and that of a recording differ, by a load that begins and ends with
// the window. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

// When a load began and ended that rose once and fell once.
struct LoadSpan {
  double rise_unix_s = 0;
  double fall_unix_s = 0;
  // Between two moments nobody sees when: these readings were under load.
  double latest_rise_unix_s = 0;
  double earliest_fall_unix_s = 0;
  bool is_rough = false;  // the edges are where power crossed the middle, to some tenths
};

// When power crossed the middle between idle and load. Nullopt: it did not rise once and fall once.
// Where it also did elsewhere, in a warm-up before the load or an evaluation after it, those
// nearest to the window's edges count, if they are near, power is idle outside of them and up
// inside.
struct LoadCrossings {
  double up_unix_s = 0;
  double down_unix_s = 0;
  // The first and the last sample above it.
  double high_from_unix_s = 0;
  double high_until_unix_s = 0;
  bool are_only = true;
};
std::optional<LoadCrossings> load_crossings(std::span<const Sample> samples, Window window);

// Nullopt: power does not rise once near the window's start and fall once near its end. Edges are
// placed so that the energy above the level before them is that of a sharp edge, which averaging
// does not change. `crossings` are those of the samples.
std::optional<LoadSpan> load_span(std::span<const Sample> samples, const LoadCrossings& crossings,
                                  const SensorModel& sensor, Window window);

// What must be added to the window's times, from the median GPU: nullopt unless the load is where
// it cannot be (up more than 0.2 s before the window, or more than 0.4 s after it, whenever it rose
// and fell) and both edges agree on an offset above 0.3 s, or 0.6 s if an edge is rough.
std::optional<double> clock_shift_s(std::span<const LoadSpan> gpus, Window window);

}  // namespace aggregate_power
