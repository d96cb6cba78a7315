// Reads text line by line.
#pragma once

#include <functional>
#include <string_view>

#include "base/files/byte_source.h"

namespace aggregate_power {

// Calls `take` for each line, without its line break. A last line that no line break ends is
// passed on with `is_whole` false. Throws TelemetryError at a line of more than 1 MiB.
using TakeLine = std::function<void(std::string_view line, bool is_whole)>;
void for_each_line(ByteSource& source, const TakeLine& take);

}  // namespace aggregate_power
