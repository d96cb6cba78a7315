// Writes numbers in tenths of a pixel, and escapes text.
#include "chart/svg_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/utf8.h"
#include "chart/chart.h"
#include "chart/svg.h"

namespace aggregate_power {
namespace {

std::int64_t tenths_of(double pixels) {
  if (std::isnan(pixels)) return 0;
  constexpr double kFar = 1e6;  // beyond any page
  return std::llround(std::clamp(pixels, -kFar, kFar) * 10);
}

std::string tenths_text(std::int64_t tenths) {
  const std::int64_t size = std::abs(tenths);
  std::string text = tenths < 0 ? "-" : "";
  if (size >= 10 || size == 0) text += fmt::format("{}", size / 10);
  if (size % 10 != 0) text += fmt::format(".{}", size % 10);
  return text;
}

bool is_in_xml(char32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code <= 0xD7FF) ||
         (code >= 0xE000 && code <= 0xFFFD) || code >= 0x10000;
}

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

std::string pixels_text(double pixels) { return tenths_text(tenths_of(pixels)); }

std::string path_data(const Polyline& pixels) {
  if (pixels.empty()) return {};
  std::int64_t x = tenths_of(pixels[0].x);
  std::int64_t y = tenths_of(pixels[0].y);
  std::string data = fmt::format("M{} {}", tenths_text(x), tenths_text(y));
  if (pixels.size() == 1) return data + "h0";
  bool is_first = true;
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    const std::int64_t next_x = tenths_of(pixels[i].x);
    const std::int64_t next_y = tenths_of(pixels[i].y);
    if (next_x == x && next_y == y && !(is_first && i + 1 == pixels.size())) continue;
    const std::string dx = tenths_text(next_x - x);
    const std::string dy = tenths_text(next_y - y);
    data += is_first ? "l" : dx.starts_with('-') ? "" : " ";
    data += dx;
    if (!dy.starts_with('-')) data += ' ';
    data += dy;
    x = next_x;
    y = next_y;
    is_first = false;
  }
  return data;
}

std::string xml_text(std::string_view bytes) {
  std::string text;
  const std::string valid = replace_invalid_utf8(bytes);
  std::string_view rest = valid;
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const char32_t code = character.code.value_or(0);
    switch (code) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        if (is_in_xml(code)) {
          text += rest.substr(0, character.size);
        } else {
          text += "\uFFFD";
        }
    }
    rest.remove_prefix(character.size);
  }
  return text;
}

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
