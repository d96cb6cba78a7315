// Draws a chart as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chart/chart.h"

namespace aggregate_power {

struct SvgOptions {
  // Of the element; the ids inside begin with it. Unique within a page; ASCII letters, digits and
  // '-', the first a letter.
  std::string id = "chart";
  // The picture carries svg_style(). A page of several charts has it once itself.
  bool has_style = true;
};

// An <svg> element with its line end. The same chart gives the same bytes. Points beyond the axes
// are cut off; those without a place on them are left out, and hidden if they have a tag.
std::string svg(const Chart& chart, const SvgOptions& options = {});

// The rules of all charts, for a <style> element: light, dark where the reader prefers that, and
// light in print. All selectors begin with ".chart".
std::string svg_style();

// ---- The parts of an SVG: the places of its panels, and its text.

// ---- Where the parts of a chart are on the page, in pixels

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

// ---- The words of SVG: numbers, paths, escaped text

// Rounded to tenths, without needless characters: "12", "-.5".
std::string pixels_text(double pixels);

// A path's data through places in pixels, relative from the second on; what is rounded does not
// add up. A single point is a line of no length, which round caps make a dot.
std::string path_data(const Polyline& pixels);

// Text as XML has it, also within attributes. Bytes that are not UTF-8 and characters that XML does
// not allow become U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace aggregate_power
