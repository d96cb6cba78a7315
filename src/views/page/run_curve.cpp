// Takes the range of a line in each column of its picture.
#include "views/page/page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/energy/plausibility.h"
#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

class CurveColumns {
 public:
  CurveColumns(Window window, double scale) : scale_(scale) {
    const double margin = kCurveMargin * window.duration_s();
    start_s_ = window.start_unix_s - margin;
    width_s_ = (window.duration_s() + 2 * margin) / kCurveColumns;
    columns_.resize(kCurveColumns);
  }

  // A piece of the line, straight between its ends.
  void add(Point a, Point b) {
    const double first = std::max(position(a.x), 0.0);
    const double last = std::min(position(b.x), static_cast<double>(kCurveColumns));
    if (!(first <= last)) return;
    for (auto i = static_cast<std::size_t>(first); i < kCurveColumns; ++i) {
      const double from = std::max(first, static_cast<double>(i));
      const double to = std::min(last, static_cast<double>(i + 1));
      if (from > to) return;
      add_value(i, value_at(a, b, from));
      add_value(i, value_at(a, b, to));
    }
  }

  RunCurve curve() const {
    RunCurve curve{columns_};
    for (const auto& column : columns_) {
      if (column) curve.peak_w = std::max(curve.peak_w, column->high_w);
    }
    return curve;
  }

 private:
  double position(double unix_s) const { return (unix_s - start_s_) / width_s_; }

  double value_at(Point a, Point b, double column) const {
    const double x = start_s_ + column * width_s_;
    if (!(b.x > a.x) || x <= a.x) return a.y;
    return x >= b.x ? b.y : a.y + (x - a.x) / (b.x - a.x) * (b.y - a.y);
  }

  void add_value(std::size_t column, double value) {
    const double watts = value * scale_;
    auto& range = columns_[column];
    if (!range) range = RunCurve::Range{watts, watts};
    range->low_w = std::min(range->low_w, watts);
    range->high_w = std::max(range->high_w, watts);
  }

  double scale_;
  double start_s_ = 0;
  double width_s_ = 1;
  std::vector<std::optional<RunCurve::Range>> columns_;
};

std::optional<int> level_of_power(double watts, double scale_w) {
  if (!(scale_w > 0)) return 0;
  return static_cast<int>(std::lround(std::min(1.0, watts / scale_w) * (kCompactLevels - 1)));
}

}  // namespace

double RunCurve::scale_w() const {
  constexpr double kSpike = 4;  // times what is exceeded in a tenth of the columns
  constexpr double kRoom = 3;   // times what is exceeded in half of them
  std::vector<double> highs_w;
  for (const auto& column : columns) {
    if (column) highs_w.push_back(column->high_w);
  }
  const bool is_spike = peak_w > kMostBoardWatts || peak_w > kSpike * quantile_of(highs_w, 0.9);
  if (!is_spike) return peak_w;
  return std::min(peak_w, kRoom * quantile_of(std::move(highs_w), 0.5));
}

RunCurve run_curve(const std::vector<Polyline>& sum, std::size_t gpus, Window window) {
  CurveColumns columns(window, gpus > 0 ? 1 / static_cast<double>(gpus) : 1);
  for (const Polyline& line : sum) {
    if (line.size() == 1) columns.add(line[0], line[0]);
    for (std::size_t i = 1; i < line.size(); ++i) columns.add(line[i - 1], line[i]);
  }
  return columns.curve();
}

std::string compact_curve(const RunCurve& curve, double scale_w) {
  std::vector<std::optional<int>> levels;
  double before = 0;
  for (const auto& column : curve.columns) {
    if (!column) {
      levels.insert(levels.end(), 2, std::nullopt);
      continue;
    }
    // The nearer end first, so that the line has no needless turns.
    const bool falls = std::abs(before - column->high_w) < std::abs(before - column->low_w);
    const auto low = level_of_power(column->low_w, scale_w);
    const auto high = level_of_power(column->high_w, scale_w);
    levels.push_back(falls ? high : low);
    levels.push_back(falls ? low : high);
    before = falls ? column->low_w : column->high_w;
  }
  return compact_numbers(levels);
}

std::string curve_path(const std::string& compact) {
  std::string path;
  bool is_connected = false;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const auto level = compact_level(compact[i]);
    if (level) {
      path += fmt::format("{}{} {}", is_connected ? 'L' : 'M', i / 2, kCompactLevels - 1 - *level);
    }
    is_connected = level.has_value();
  }
  return path;
}

std::string compact_numbers(std::span<const std::optional<int>> levels) {
  std::string text;
  text.reserve(levels.size());
  for (const std::optional<int>& level : levels) {
    text += level ? kCompactCharacters[static_cast<std::size_t>(
                        std::clamp(*level, 0, kCompactLevels - 1))]
                  : kCompactMissing;
  }
  return text;
}

std::optional<int> compact_level(char character) {
  const std::size_t level = kCompactCharacters.find(character);
  if (level == std::string_view::npos) return std::nullopt;
  return static_cast<int>(level);
}

}  // namespace aggregate_power
