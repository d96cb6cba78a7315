// Merges neighbouring columns whenever there are too many.
#include "drawing/decimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace aggregate_power {
namespace {

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

}  // namespace

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

}  // namespace aggregate_power
