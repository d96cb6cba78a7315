// Reads text line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/files/byte_source.h"

namespace aggregate_power {

// How many there are.
std::uint64_t line_breaks(std::span<const char> text);

// Calls `take` for each line, without its line break. A last line that no line break ends is
// passed on with `is_whole` false. kLineSlack bytes after a line may be read. Throws TelemetryError
// at a line of more than 1 MiB.
void for_each_line(ByteSource& source,
                   const std::function<void(std::string_view line, bool is_whole)>& take);

}  // namespace aggregate_power
