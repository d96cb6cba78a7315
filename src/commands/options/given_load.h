// Options that state when a load ran and what it did, in place of its result.
#pragma once

#include <optional>
#include <string_view>

#include "commands/options/options.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

void add_given_load(Options& options, GivenLoad& given);
// Throws Error for options that contradict each other, or that would have no effect.
// Times without an offset are in the zone of --timezone.
void settle_given_load(const Options& options, GivenLoad& given);

// "60", "60s", "1.5m", "2h", "250ms"; above 0.
std::optional<double> duration_in(std::string_view text);

}  // namespace aggregate_power
