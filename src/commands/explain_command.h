// What a word of a record means.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

// The text of 'explain CODE' in lines of `width` columns; empty: there is no such code.
std::string explanation(std::string_view code, std::size_t width);

}  // namespace aggregate_power
