// Names cut to the width of a table's column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

// At most that many characters, as a terminal may show them.
std::string shortened(std::string_view text, std::size_t columns);

// The same for names that must stay apart: cut at the end if they then differ, else in the middle,
// else at the beginning, else not at all.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names,
                                         std::size_t columns);

}  // namespace aggregate_power
