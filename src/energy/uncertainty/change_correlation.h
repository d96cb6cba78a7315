// How alike the power of several GPUs changes. Pure arithmetic.
#pragma once

#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Mean correlation of the changes that GPUs' samples show at the same time, inside the window; 0
// for one GPU, and if it is negative.
double change_correlation(std::span<const std::span<const Sample>> gpus, Window window);

}  // namespace aggregate_power
