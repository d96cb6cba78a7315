// Reads text line by line, and looks at its first lines.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_source.h"

namespace aggregate_power {

// Calls `take` for each line, without its line break. A last line that no line break ends is
// passed on with `is_whole` false. Throws TelemetryError at a line of more than 1 MiB.
using TakeLine = std::function<void(std::string_view line, bool is_whole)>;
void for_each_line(ByteSource& source, const TakeLine& take);

// The first lines of a text that are not blank, without blanks around them.
std::vector<std::string_view> lines_of(std::string_view text, std::size_t most);
// The first three of them, as a message may show them.
std::vector<std::string> first_lines(std::string_view head);

// Whether a text contains each of `parts`.
bool has_all(std::string_view text, const std::vector<std::string_view>& parts);

// Whether the first row of a file is one of values: some cell is a time or a number such as 28.44.
// "0" and "1" may name columns.
bool looks_like_data(std::span<const std::string> cells);

// ---- Lines in which a script says when what follows was read.

// The time in a line of its own: "1777118400", "# 2026-04-25T12:00:00Z", "# timestamp: 1777118400".
// Empty: it is another line. The line is stripped.
std::string_view time_of_line(std::string_view line);

}  // namespace aggregate_power
