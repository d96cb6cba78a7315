// Draws a chart as text.
#pragma once

#include <cstddef>
#include <string>

#include "chart/chart.h"

namespace aggregate_power {

struct TerminalOptions {
  std::size_t columns = 80;  // width of everything; at least 30
  std::size_t rows = 12;     // of each panel's area
  bool is_utf8 = true;       // braille dots and lines; otherwise ASCII, with a sign for each series
  bool has_colour = false;
};

// Lines, each with its line end. Every line of a series, its labels and its values, the stretches
// and the caption; tooltips are left out.
std::string terminal_picture(const Chart& chart, const TerminalOptions& options);

}  // namespace aggregate_power
