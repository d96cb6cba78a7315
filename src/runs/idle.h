// Takes the idle power of a run's GPUs from where --idle says.
#pragma once

#include <span>
#include <string>

#include "aggregate_power/result.h"
#include "energy/reading_gatherer.h"
#include "recorders/recording.h"
#include "runs/run_options.h"

namespace aggregate_power {

// "auto", "85", "85+-3", "85±3", or "START:END" with times as in a windows file. Throws Error, with
// what is expected, for anything else.
void check_idle(const std::string& text);

// Sets Result::idle. `gathered` are the readings around the load; for a given stretch the recording
// is read again. Never throws because of the recording.
void add_idle(const RunOptions& run, const Recording& recording,
              std::span<const GatheredReadings> gathered, Result& result);

}  // namespace aggregate_power
