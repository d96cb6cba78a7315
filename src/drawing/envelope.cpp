// Notes in each column what each piece of each line passes through.
#include "drawing/envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aggregate_power {
namespace {

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
