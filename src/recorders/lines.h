// Reads text line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/files/byte_source.h"

namespace aggregate_power {

// How many there are.
std::uint64_t line_breaks(std::span<const char> text);

// Calls `take` for each line, without its line break. A last line that no line break ends is
// passed on with `is_whole` false. `take_more`, if there is one, gets what is read after each
// whole line, and returns how many bytes of it are lines that it took itself. kLineSlack bytes
// after a line may be read. Throws TelemetryError at a line of more than 1 MiB.
using TakeLine = std::function<void(std::string_view line, bool is_whole)>;
using TakeLines = std::function<std::size_t(std::string_view after)>;
void for_each_line(ByteSource& source, const TakeLine& take, const TakeLines& take_more = {});

}  // namespace aggregate_power
