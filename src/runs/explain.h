// Explains why a recording gave no result, if the reason's code does not say enough.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/sample.h"
#include "recorders/recording.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// "3 of 9 rows, the first 'yesterday' in row 2 after the header"; empty if no stamp was bad.
std::string bad_stamps_text(const Telemetry& telemetry);

// The first and the last stamp of a recording; nullopt if it has none. Reads it once. Throws what
// reading throws.
std::optional<Span> extent_of(const Recording& recording);

// Why a recording has no usable power samples in a window.
struct NoSamples {
  std::string detail;                    // empty: nothing more can be said
  std::optional<std::string> zone_hint;  // zone_hint()'s
};

// `telemetry` was read to its end. Usually reads the whole recording once more, for its first and
// last stamp; `may_use_threads` is passed to Passes. Throws what reading throws.
NoSamples explain_no_samples(const Recording& recording, const Telemetry& telemetry, Window window,
                             bool may_use_threads);

}  // namespace aggregate_power
