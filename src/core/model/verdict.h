// The words that judge a run's power curve and its sensors, beside an uncertainty: what each means,
// by a rule that a person can check.
#pragma once

#include <span>

#include "core/model/explained_word.h"

namespace aggregate_power {

// In the order of the help page: of the load, of the sensor, of faults, of the number.
std::span<const ExplainedWord> verdict_words();

}  // namespace aggregate_power
