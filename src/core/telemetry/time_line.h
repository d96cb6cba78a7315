// Lines in which a script says when what follows was read.
#pragma once

#include <string_view>

namespace aggregate_power {

// The time in a line of its own: "1777118400", "# 2026-04-25T12:00:00Z", "# timestamp: 1777118400".
// Empty: it is another line. The line is stripped.
std::string_view time_of_line(std::string_view line);

}  // namespace aggregate_power
