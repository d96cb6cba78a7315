// Sets dots in braille cells, or signs.
#include "drawing/dot_canvas.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/utf8.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kDotsAcross = 2;
constexpr std::size_t kDotsDown = 4;
// The bits of the braille block, U+2800, by column and row of the cell.
constexpr std::uint8_t kBits[kDotsAcross][kDotsDown] = {{0x01, 0x02, 0x04, 0x40},
                                                        {0x08, 0x10, 0x20, 0x80}};

std::string braille(std::uint8_t dots) {
  const unsigned code = 0x2800U + dots;
  return {static_cast<char>(0xE0U | code >> 12U), static_cast<char>(0x80U | (code >> 6U & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

std::size_t index_of(double share, std::size_t count) {
  const double index = std::floor(share * static_cast<double>(count));
  return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(count - 1)));
}

}  // namespace

DotCanvas::DotCanvas(std::size_t columns, std::size_t rows, bool is_utf8)
    : columns_(columns), rows_(rows), is_utf8_(is_utf8), cells_(columns * rows) {}

std::size_t DotCanvas::column_of(double share) const { return index_of(share, columns_); }
std::size_t DotCanvas::row_of(double share) const { return rows_ - 1 - index_of(share, rows_); }

// In dots from the lower left, as real numbers.
void DotCanvas::dot(double x, double y, char sign, int colour) {
  const auto across = static_cast<double>(columns_ * kDotsAcross);
  const auto down = static_cast<double>(rows_ * kDotsDown);
  if (!(x >= 0 && x <= across && y >= 0 && y <= down)) return;
  const auto column = static_cast<std::size_t>(std::min(x, across - 1));
  const auto row = static_cast<std::size_t>(down - 1 - std::min(std::floor(y), down - 1));
  Cell& at = cell(column / kDotsAcross, row / kDotsDown);
  at.dots |= kBits[column % kDotsAcross][row % kDotsDown];
  at.sign = sign;
  at.colour = colour;
}

void DotCanvas::segment(Point from, Point to, char sign, int colour) {
  const double steps = std::ceil(std::max(std::abs(to.x - from.x), std::abs(to.y - from.y)));
  const double most = static_cast<double>((columns_ * kDotsAcross + rows_ * kDotsDown) * 4);
  const double count = std::clamp(steps, 1.0, most);
  for (double i = 0; i <= count; ++i) {
    const double share = i / count;
    dot(from.x + share * (to.x - from.x), from.y + share * (to.y - from.y), sign, colour);
  }
}

void DotCanvas::draw(const Polyline& places, char sign, int colour) {
  const auto in_dots = [&](Point place) {
    return Point{place.x * static_cast<double>(columns_ * kDotsAcross),
                 place.y * static_cast<double>(rows_ * kDotsDown)};
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    segment(in_dots(places[i == 0 ? 0 : i - 1]), in_dots(places[i]), sign, colour);
  }
}

void DotCanvas::put_behind(std::size_t column, std::size_t row, const char* utf8, char ascii) {
  if (column >= columns_ || row >= rows_) return;
  cell(column, row).text = is_utf8_ ? std::string(utf8) : std::string(1, ascii);
}

void DotCanvas::write(std::size_t column, std::size_t row, const std::string& text) {
  std::string_view rest = text;
  for (; !rest.empty() && column < columns_ && row < rows_; ++column) {
    const std::size_t size = first_character(rest).size;
    Cell& at = cell(column, row);
    at.text = rest.substr(0, size);
    at.is_over = true;
    rest.remove_prefix(size);
  }
}

std::string DotCanvas::row(std::size_t row, bool has_colour) const {
  std::string line;
  for (std::size_t column = 0; column < columns_; ++column) {
    const Cell& at = cells_[row * columns_ + column];
    if (at.is_over || at.dots == 0) {
      line += at.text.empty() ? " " : at.text;
      continue;
    }
    const std::string sign = is_utf8_ ? braille(at.dots) : std::string(1, at.sign);
    line += has_colour && at.colour != 0 ? fmt::format("\x1B[{}m{}\x1B[0m", at.colour, sign) : sign;
  }
  return line;
}

}  // namespace aggregate_power
