// What vLLM's results and those of the generators that grew out of it have in common.
#pragma once

#include <optional>
#include <string_view>

#include "generators/result_format.h"

namespace aggregate_power {

// "20260908-092131": local time, to the second.
std::optional<WallStamp> compact_stamp(std::string_view text);

// The settings by which runs in one file differ, as far as the result states them.
void add_settings(LoadReading& reading, const ResultValues& values,
                  std::initializer_list<std::string_view> keys);

// Counts, duration, settings and, if there is a `date`, the stamp of the end. A result to which a
// script added the window as InferenceX writes it states its window exactly.
LoadReading conclude_serving(const ResultScope& scope);

}  // namespace aggregate_power
