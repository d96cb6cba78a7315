// Draws a chart as SVG.
#pragma once

#include <string>

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
// are cut off; those without a place on them are left out.
std::string svg(const Chart& chart, const SvgOptions& options = {});

// The rules of all charts, for a <style> element: light, dark where the reader prefers that, and
// light in print. All selectors begin with ".chart".
std::string svg_style();

}  // namespace aggregate_power
