// Options that state when a load ran and what it did, in place of its result.
#pragma once

#include <optional>
#include <string_view>

#include "commands/options.h"
#include "runs/run_options.h"

namespace aggregate_power {

void add_given_load(Options& options, GivenLoad& given);
// Throws Error for options that contradict each other, or that would have no effect.
void settle_given_load(const Options& options, const GivenLoad& given);

// "2026-09-08T07:20:30Z" or with an offset, or a number since 1970: seconds, or by its size milli-,
// micro- or nanoseconds. Returns nullopt for anything else, such as a time without an offset.
std::optional<double> instant_of(std::string_view text);

// "60", "60s", "1.5m", "2h", "250ms"; above 0.
std::optional<double> seconds_of(std::string_view text);

}  // namespace aggregate_power
