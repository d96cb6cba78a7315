// The rules by which charts are coloured.
#include <fmt/format.h>

#include "drawing/palette.h"
#include "drawing/svg.h"

namespace aggregate_power {
namespace {

// The colours of what is not a series.
struct Theme {
  std::string_view ground, ink, muted, grid, axis, window, gap, invalid, limit, idle;
};
constexpr Theme kLight = {"#ffffff", "#1f2328", "#57606a", "#e4e7eb", "#8c959f",
                          "#2f6fb5", "#6e7781", "#b3261e", "#b3261e", "#57606a"};
constexpr Theme kDark = {"#16181d", "#e6e8eb", "#a0a8b2", "#2c3138", "#6b7480",
                         "#79b8ff", "#9aa3ad", "#ff8a80", "#ff8a80", "#a0a8b2"};

std::string rules_of(const Theme& theme, std::string_view Colour::*ground) {
  std::string rules = fmt::format(
      ".chart .ground{{fill:{}}}.chart text{{fill:{}}}.chart .muted{{fill:{}}}"
      ".chart .grid{{stroke:{}}}.chart .axis{{stroke:{}}}"
      ".chart .halo{{stroke:{}}}.chart .ink{{stroke:{}}}.chart .ink-area{{fill:{}}}"
      ".chart .window{{fill:{}}}.chart .window-edge{{stroke:{}}}.chart .gap{{stroke:{}}}"
      ".chart .invalid{{stroke:{}}}.chart .limit{{stroke:{}}}.chart .idle{{stroke:{}}}\n",
      theme.ground, theme.ink, theme.muted, theme.grid, theme.axis, theme.ground, theme.ink,
      theme.ink, theme.window, theme.window, theme.gap, theme.invalid, theme.limit, theme.idle);
  for (std::size_t i = 0; i < kColours; ++i) {
    const std::string_view colour = colour_of(i).*ground;
    rules += fmt::format(".chart .c{}{{stroke:{}}}.chart .a{}{{fill:{}}}", i, colour, i, colour);
  }
  return rules + "\n";
}

}  // namespace

std::string svg_style() {
  return ".chart{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,"
         "sans-serif}\n"
         ".chart .title{font-size:15px;font-weight:600}.chart .head{font-weight:600}"
         ".chart .small{font-size:11px}.chart .number{font-variant-numeric:tabular-nums}"
         ".chart .halo{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}\n"
         ".chart .line{fill:none;stroke-width:1.2px;stroke-linejoin:round;stroke-linecap:round}"
         ".chart .strong{stroke-width:1.6px}.chart .alone{stroke-width:4px}.chart .hair{fill:none;stroke-width:1px}"
         ".chart .gap,.chart .invalid{stroke-opacity:.55}"
         ".chart .ribbon{stroke:none;fill-opacity:.18}.chart .window{fill-opacity:.09}"
         ".chart .limit,.chart .idle{fill:none;stroke-width:1px;stroke-dasharray:5 3}"
         ".chart .idle{stroke-dasharray:2 3}"
         ".chart .window-edge{fill:none;stroke-width:1px;stroke-dasharray:4 3}\n" +
         rules_of(kLight, &Colour::light) + "@media screen and (prefers-color-scheme:dark){\n" +
         rules_of(kDark, &Colour::dark) + "}\n";
}

}  // namespace aggregate_power
