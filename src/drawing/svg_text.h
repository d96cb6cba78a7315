// The words of SVG: numbers, paths, escaped text.
#pragma once

#include <string>
#include <string_view>

#include "drawing/chart.h"

namespace aggregate_power {

// Rounded to tenths, without needless characters: "12", "-.5".
std::string pixels_text(double pixels);

// A path's data through places in pixels, relative from the second on; what is rounded does not
// add up. A single point is a line of no length, which round caps make a dot.
std::string path_data(const Polyline& pixels);

// Text as XML has it, also within attributes. Bytes that are not UTF-8 and characters that XML does
// not allow become U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace aggregate_power
