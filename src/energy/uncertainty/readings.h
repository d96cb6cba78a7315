// Readings that are not power: zeros and spikes on their own, and values that a sensor was stuck
// at. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

struct SoundReadings {
  SoundReadings() = default;
  SoundReadings(SoundReadings&&) = default;
  SoundReadings& operator=(SoundReadings&&) = default;

  // Without faults, in time order: `kept`, or all that were given, if none has one.
  std::span<const Sample> samples;
  std::vector<Sample> kept = {};
  std::size_t implausible = 0;        // zeros and spikes that were left out
  std::vector<Sample> left_out = {};  // these, in time order
  std::vector<Window> stuck;  // stretches of one value under load; only its first reading is kept
};

// Left out are
// * up to three zeros between readings above 15 W;
// * single readings above twice what is usual around them and 1.5 times the board's limit, if at
//   most a third of the readings under load are above that; where no limit is known, above twice
//   the 99th percentile of the others, if at most a tenth of those under load and at most three,
//   or one in a hundred, are;
// * readings above what any board draws, beside others that are not;
// * all but the first of a stretch >= 4 s and >= 6 readings of one value under load (above 40 % of
//   the 95th percentile), five times longer than any but 2 % of the other repeats under load, if
//   readings under load otherwise move from one to the next, by more than 0.01 % and by more than
//   their last digit.
SoundReadings sound_readings(std::span<const Sample> samples, std::optional<double> limit_w);

}  // namespace aggregate_power
