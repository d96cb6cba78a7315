// Reads an instant as people and scripts write it.
#pragma once

#include <optional>
#include <string_view>

#include "base/text/time_zone.h"

namespace aggregate_power {

// "2026-09-08T07:20:30Z" or with an offset, "2026/09/08 07:20:30.123" as nvidia-smi writes it, "Tue
// Sep  8 07:20:30 UTC 2026" as `date` does, or a number since 1970: seconds, or by its size milli-,
// micro- or nanoseconds. A time without an offset is read in `zone`. Returns nullopt for anything
// else, and for a time without an offset if there is no zone.
std::optional<double> instant_of(std::string_view text, const Zone* zone = nullptr);

}  // namespace aggregate_power
