// Curves: smooth ones through points, what can be seen of long ones, and the range of several.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "chart/chart.h"

namespace aggregate_power {

// ---- Keeps as much of a long line as can be seen, and its every peak

// A line of any length in bounded memory, while it is read. The x axis is divided into columns, of
// which at most `2 * columns` and, of a long line, at least about `columns` are kept; each keeps
// its first, lowest, highest and last point, as they were given. A line that is short enough is
// kept whole.
class Decimator {
 public:
  explicit Decimator(std::size_t columns) : columns_(columns) {}

  // Both are finite; `x` is not below the last one. `is_connected`: a line leads here from the
  // point before.
  void add(double x, double y, bool is_connected = true) {
    if (is_connected && x < current_end_) {
      if (y < current_.low.y) current_.low = {x, y};
      if (y > current_.high.y) current_.high = {x, y};
      current_.last = {x, y};
      return;
    }
    begin_column({x, y}, is_connected);
  }

  // Coarser columns, until there are at most `columns`.
  void coarsen(std::size_t columns);
  // From now on as if it had been constructed with `columns`, fewer than it was.
  void limit(std::size_t columns) {
    columns_ = columns;
    coarsen(2 * columns);
  }
  // The number of columns with points.
  std::size_t size() const { return before_.size() + (has_current_ ? 1 : 0); }

  struct Column {
    Point first, low, high, last;
    bool is_connected = false;  // with the column before it
    bool is_broken = false;     // not all of its points are connected
  };
  std::vector<Column> columns() const;
  // The line from column to column, each point once, in order; broken where it is not connected.
  // Of each column it has the lowest and the highest point; at its ends also the first and the
  // last. Of a column that is broken inside, only the first and the last point are connected, each
  // with its neighbour.
  std::vector<Polyline> lines() const;

 private:
  void begin_column(Point point, bool is_connected);
  void widen();
  double number_of(double x) const;

  std::size_t columns_;
  std::vector<Column> before_;  // those before the current one
  Column current_;
  bool has_current_ = false;
  double current_end_ = -std::numeric_limits<double>::infinity();
  double origin_ = 0;
  double width_ = 0;  // of a column; 0: each point is a column
};

// ---- The range of several lines at each x

// From the lowest to the highest of all lines, in `columns` columns of equal width from the first
// to the last x; broken where there is no line. A ribbon's points are at the columns' middles.
std::vector<Ribbon> envelope(std::span<const Polyline> lines, std::size_t columns);

// ---- A smooth curve through points that never leaves their range

// The monotone cubic interpolation of Fritsch and Carlson (1980): between two neighbours the curve
// stays between their values, and rises or falls only. `points` are sorted by strictly rising x.
// Each stretch becomes `steps` straight lines; the points themselves are on the curve. Fewer than
// three points give themselves.
Polyline monotone_curve(std::span<const Point> points, std::size_t steps);

}  // namespace aggregate_power
