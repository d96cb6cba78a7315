// Where the parts of a chart are on the page, in pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drawing/chart.h"

namespace aggregate_power {

inline constexpr double kLineHeight = 16;
inline constexpr double kCharacterWidth = 6.5;  // of a font of 12 pixels, on average

// Pixels; y grows downwards.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
  // A place from placed_lines().
  Point at(Point place) const { return {left + place.x * width(), bottom - place.y * height()}; }
};

struct SvgLayout {
  double width = 0;
  double height = 0;
  std::vector<Box> panels = {};  // the areas between the axes
  double legend_left = 0;        // the legend goes from here to `legend_right`
  double legend_right = 0;
  double key_top = 0;
  double caption_top = 0;
  std::vector<std::string> caption = {};  // lines
};

SvgLayout svg_layout(const Chart& chart);

double text_pixels(std::string_view text);
// As much of a text as fits, with an ellipsis if that is not all.
std::string text_within(const std::string& text, double pixels);

}  // namespace aggregate_power
