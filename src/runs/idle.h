// Takes the idle power of a run's GPUs from where --idle says.
#pragma once

#include <span>
#include <string>

#include "aggregate_power/result.h"
#include "recorders/recording.h"
#include "runs/run_options.h"
#include "runs/sensor_readings.h"

namespace aggregate_power {

// What is wrong with a text that is none of "auto", "85", "85+-3", "85±3", and "START:END" with
// times as in a windows file; empty: it is one of these.
std::string idle_fault(const std::string& text);

// Why a run has no idle power.
inline constexpr const char* kNotForPackages = "not_for_packages";

// Throws Error if the text, one that was checked, is a stretch. `why` there is none: "is of one
// recording, and there are 2".
void refuse_idle_stretch(const std::string& text, const std::string& why);

// Sets Result::idle, if it is asked for. `recordings` are the readings around the load, whose GPUs
// have names that differ; for a given stretch `recording` is read again. Null: there are several,
// and no stretch. Never throws because of a recording.
void add_idle(const RunOptions& run, const Recording* recording,
              std::span<const SensorReadings> recordings, Result& result);

// The same for a run without power, or whose idle time is not looked for.
void refuse_idle(const RunOptions& run, Result& result,
                 const std::string& reason = "power_not_valid");

}  // namespace aggregate_power
