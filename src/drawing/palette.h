// Colours and dashes that distinguish the series of a chart.
#pragma once

#include <cstddef>
#include <string_view>

namespace aggregate_power {

// One colour, on a light and on a dark ground: "#0072b2".
struct Colour {
  std::string_view light;
  std::string_view dark;
};

// People who see no red, no green or no blue can tell these apart, too.
inline constexpr std::size_t kColours = 8;

// Of the series with that number from 0. Beyond kColours the colours begin again, with other
// dashes.
std::size_t colour_number(std::size_t series);  // below kColours
Colour colour_of(std::size_t series);
// As SVG's stroke-dasharray has it; empty: a solid line.
std::string_view dashes_of(std::size_t series);

}  // namespace aggregate_power
