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

// The mean time for which values are held at times without a period; nullopt: they are not. Most
// are held for longer than `max_gap_s`, none comes back, and the steps between them are larger than
// the last digit: a sensor that is rounded returns to its values, and one that works changes at
// once. Levels of a test are round numbers.
std::optional<double> mean_hold_s(std::span<const Sample> samples, double max_gap_s);

// The same where few values show it, so that they may also be levels of a test: one with decimals,
// or two. A reason to ask, and none to refuse. Not where the power changes at the edges of the
// window only: that is a load.
std::optional<double> possible_hold_s(std::span<const Sample> samples, double max_gap_s,
                                      Window window = kAlways);

// The usual time between the readings that have all others on straight lines between them; nullopt:
// they are not, or closer than `max_gap_s`. Of the samples, 6 in 10 are on lines of 5 or more, with
// two slopes at least, that rise or fall by 20 of the readings' last digits: no noise is on a line.
std::optional<double> interpolated_s(std::span<const Sample> samples, double max_gap_s);

// The same where they rise or fall by 8 digits, up and down alike, and are twice as long. A reason
// to ask, and none to refuse.
std::optional<double> possible_lines_s(std::span<const Sample> samples, double max_gap_s);

// Why the readings are older than `max_gap_s`, for people: "a new reading every 15 s only, ...".
// Empty: they are not.
std::string stale_text(std::span<const Sample> samples, double max_gap_s);

}  // namespace aggregate_power::energy
