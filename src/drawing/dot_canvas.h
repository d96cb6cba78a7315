// A field of characters on which lines are drawn with dots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drawing/chart.h"

namespace aggregate_power {

// Each character is two by four braille dots, or one sign in ASCII.
class DotCanvas {
 public:
  DotCanvas(std::size_t columns, std::size_t rows, bool is_utf8);

  // Places are shares of the field, from 0 at the lower left; what is outside is left out.
  // `colour`: 0 for none, else an ANSI colour.
  void draw(const Polyline& places, char sign, int colour);
  // A sign for where nothing is drawn.
  void put_behind(std::size_t column, std::size_t row, const char* utf8, char ascii);
  // Text in a row, over all else.
  void write(std::size_t column, std::size_t row, const std::string& text);

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return rows_; }
  std::size_t column_of(double share) const;
  std::size_t row_of(double share) const;
  // From the top.
  std::string row(std::size_t row, bool has_colour) const;

 private:
  struct Cell {
    std::uint8_t dots = 0;
    char sign = 0;
    int colour = 0;
    std::string text;  // of what is behind or over it
    bool is_over = false;
  };
  Cell& cell(std::size_t column, std::size_t row) { return cells_[row * columns_ + column]; }
  void dot(double x, double y, char sign, int colour);
  void segment(Point from, Point to, char sign, int colour);

  std::size_t columns_;
  std::size_t rows_;
  bool is_utf8_;
  std::vector<Cell> cells_;
};

}  // namespace aggregate_power
