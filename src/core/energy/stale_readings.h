// Whether readings are older than their stamps: a recorder, or a query of a store of metrics,
// repeats a slower sensor's readings, or draws lines between them. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// The time between new values of a sensor that is slower than its recorder; nullopt: the readings
// do not show one. Values change only at multiples of this time, give or take a sample, at least 8
// times in 10, and never sooner; of the values, 5 differ, or all. A sensor that repeats itself
// because it is rounded, idle or at its limit changes at times of all lengths, or mostly by its
// last digit.
std::optional<double> refresh_s(std::span<const Sample> samples);

// The same where few values show it, so that they may also be levels of a test: one with decimals,
// or two. A reason to ask, and none to refuse. Not where the power changes at the edges of the
// window only: that is a load.
std::optional<double> possible_hold_s(std::span<const Sample> samples, double max_gap_s,
                                      Window window = kAlways);

// The same where they rise or fall by 8 digits, up and down alike, and are twice as long. A reason
// to ask, and none to refuse.
std::optional<double> possible_lines_s(std::span<const Sample> samples, double max_gap_s);

// Why the readings are older than `max_gap_s`, for people: "a new reading every 15 s only, ...".
// Empty: they are not.
std::string stale_text(std::span<const Sample> samples, double max_gap_s);

}  // namespace aggregate_power::energy
