// Names files that are not telemetry CSVs, by their content, and says what to do instead.
#pragma once

#include <optional>
#include <string_view>

#include "core/telemetry/telemetry.h"

namespace aggregate_power {

// The format of a file that begins with `head` (UTF-8, at most 64 KiB); nullopt: none of those
// known. A file that can be read may have one too: ask only for a file that cannot.
std::optional<ForeignFormat> foreign_format(std::string_view head);

}  // namespace aggregate_power
