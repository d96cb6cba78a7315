// Reduces curves to the points that can be seen.
#include "chart/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace aggregate_power {
namespace {

// dy/dx at each point. Fritsch and Carlson, SIAM Journal on Numerical Analysis 17 (1980) 238-246:
// the means of the secants, shortened to the circle of radius 3 on which the cubic is monotone.
std::vector<double> limited_slopes(std::span<const Point> points) {
  const std::size_t last = points.size() - 1;
  std::vector<double> secants(last);
  for (std::size_t i = 0; i < last; ++i) {
    secants[i] = (points[i + 1].y - points[i].y) / (points[i + 1].x - points[i].x);
  }
  std::vector<double> slopes(points.size());
  slopes[0] = secants[0];
  slopes[last] = secants[last - 1];
  for (std::size_t i = 1; i < last; ++i) {
    const bool is_turn = secants[i - 1] * secants[i] <= 0;
    slopes[i] = is_turn ? 0 : secants[i - 1] / 2 + secants[i] / 2;
  }
  for (std::size_t i = 0; i < last; ++i) {
    if (secants[i] == 0) {
      slopes[i] = slopes[i + 1] = 0;
      continue;
    }
    const double a = slopes[i] / secants[i];
    const double b = slopes[i + 1] / secants[i];
    const double length = std::hypot(a, b);
    if (length <= 3) continue;
    slopes[i] = 3 / length * a * secants[i];
    slopes[i + 1] = 3 / length * b * secants[i];
  }
  return slopes;
}

double hermite(Point left, double left_slope, Point right, double right_slope, double share) {
  const double width = right.x - left.x;
  const double rest = 1 - share;
  return (1 + 2 * share) * rest * rest * left.y + share * rest * rest * width * left_slope +
         share * share * (3 - 2 * share) * right.y - share * share * rest * width * right_slope;
}

void merge_into(Decimator::Column& column, const Decimator::Column& next) {
  if (next.low.y < column.low.y) column.low = next.low;
  if (next.high.y > column.high.y) column.high = next.high;
  column.last = next.last;
  column.is_broken = column.is_broken || next.is_broken || !next.is_connected;
}

// The points of a column between its first and its last one, in their order.
std::array<Point, 2> inner_points(const Decimator::Column& column) {
  if (column.low.x <= column.high.x) return {column.low, column.high};
  return {column.high, column.low};
}

void extend(Polyline& line, Point point) {
  if (line.empty() || line.back() != point) line.push_back(point);
}

constexpr double kNever = std::numeric_limits<double>::infinity();

class Envelope {
 public:
  Envelope(double first_x, double last_x, std::size_t columns)
      : first_x_(first_x),
        width_((last_x - first_x) / static_cast<double>(columns)),
        columns_(columns, {0, kNever, -kNever}) {}

  void note(Point point) { note(column_of(point.x), point.y); }

  void note(Point from, Point to) {
    const std::size_t last = column_of(to.x);
    const double slope = to.x > from.x ? (to.y - from.y) / (to.x - from.x) : 0;
    for (std::size_t i = column_of(from.x); i < last; ++i) {
      const double edge = first_x_ + static_cast<double>(i + 1) * width_;
      const double y = from.y + slope * (std::clamp(edge, from.x, to.x) - from.x);
      note(i, y);
      note(i + 1, y);
    }
    note(from);
    note(to);
  }

  std::vector<Ribbon> ribbons() const {
    std::vector<Ribbon> ribbons;
    bool is_open = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      RangeAt at = columns_[i];
      if (at.low > at.high) {
        is_open = false;
        continue;
      }
      if (!is_open) ribbons.emplace_back();
      is_open = true;
      at.x = first_x_ + (static_cast<double>(i) + 0.5) * width_;
      ribbons.back().push_back(at);
    }
    return ribbons;
  }

 private:
  std::size_t column_of(double x) const {
    if (!(width_ > 0)) return 0;
    const double column = std::floor((x - first_x_) / width_);
    return static_cast<std::size_t>(
        std::clamp(column, 0.0, static_cast<double>(columns_.size() - 1)));
  }
  void note(std::size_t column, double y) {
    columns_[column].low = std::min(columns_[column].low, y);
    columns_[column].high = std::max(columns_[column].high, y);
  }

  double first_x_;
  double width_;
  std::vector<RangeAt> columns_;
};

}  // namespace

Polyline monotone_curve(std::span<const Point> points, std::size_t steps) {
  Polyline curve;
  if (points.size() < 3) return {points.begin(), points.end()};
  const std::vector<double> slopes = limited_slopes(points);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Point left = points[i];
    const Point right = points[i + 1];
    const auto [low, high] = std::minmax(left.y, right.y);
    curve.push_back(left);
    for (std::size_t step = 1; step < steps; ++step) {
      const double share = static_cast<double>(step) / static_cast<double>(steps);
      const double y = hermite(left, slopes[i], right, slopes[i + 1], share);
      // Rounding may lead out by a bit.
      curve.push_back({left.x + share * (right.x - left.x), std::clamp(y, low, high)});
    }
  }
  curve.push_back(points.back());
  return curve;
}

double Decimator::number_of(double x) const { return std::floor((x - origin_) / width_); }

void Decimator::begin_column(Point point, bool is_connected) {
  if (has_current_) {
    if (width_ > 0 && point.x < current_end_) {
      merge_into(current_, {point, point, point, point, is_connected});
      return;
    }
    before_.push_back(current_);
  }
  current_ = {point, point, point, point, is_connected && has_current_};
  has_current_ = true;
  if (before_.empty()) origin_ = point.x;
  if (size() > 2 * columns_) coarsen(2 * columns_);
  current_end_ = width_ > 0 ? origin_ + (number_of(current_.first.x) + 1) * width_
                            : -std::numeric_limits<double>::infinity();
}

void Decimator::widen() {
  std::vector<Column> all = columns();
  std::vector<Column> merged;
  for (const Column& column : all) {
    const bool is_same =
        !merged.empty() && number_of(merged.back().first.x) == number_of(column.first.x);
    if (is_same) {
      merge_into(merged.back(), column);
    } else {
      merged.push_back(column);
    }
  }
  current_ = merged.back();
  merged.pop_back();
  before_ = std::move(merged);
}

void Decimator::coarsen(std::size_t columns) {
  if (size() <= columns || columns == 0) return;
  const double span = current_.last.x - origin_;
  if (width_ == 0) {
    // A little wider, so that the last point is in the last of so many columns.
    width_ = span > 0 ? span / static_cast<double>(columns) * (1 + 1e-9) : 1;
    widen();
  }
  while (size() > columns) {
    width_ *= 2;
    widen();
  }
  current_end_ = origin_ + (number_of(current_.first.x) + 1) * width_;
}

std::vector<Decimator::Column> Decimator::columns() const {
  std::vector<Column> all = before_;
  if (has_current_) all.push_back(current_);
  return all;
}

std::vector<Polyline> Decimator::lines() const {
  std::vector<Polyline> lines;
  const std::vector<Column> all = columns();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Column& column = all[i];
    const bool begins = !column.is_connected || lines.empty();
    const bool ends = i + 1 == all.size() || !all[i + 1].is_connected;
    if (begins) lines.emplace_back();
    if (begins || column.is_broken) extend(lines.back(), column.first);
    for (const Point point : inner_points(column)) {
      if (!column.is_broken) {
        extend(lines.back(), point);
      } else if (point != column.first && point != column.last) {
        lines.push_back({point});
      }
    }
    if (column.is_broken) lines.emplace_back();
    if (ends || column.is_broken) extend(lines.back(), column.last);
  }
  return lines;
}

std::vector<Ribbon> envelope(std::span<const Polyline> lines, std::size_t columns) {
  double first_x = kNever;
  double last_x = -kNever;
  for (const Polyline& line : lines) {
    if (line.empty()) continue;
    first_x = std::min(first_x, line.front().x);
    last_x = std::max(last_x, line.back().x);
  }
  if (!(first_x <= last_x) || columns == 0) return {};
  Envelope all(first_x, last_x, columns);
  for (const Polyline& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      i == 0 ? all.note(line[0]) : all.note(line[i - 1], line[i]);
    }
  }
  return all.ribbons();
}

}  // namespace aggregate_power
