// Writes numbers in tenths of a pixel, and escapes text.
#include "drawing/svg_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "base/text/utf8.h"

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

}  // namespace aggregate_power
