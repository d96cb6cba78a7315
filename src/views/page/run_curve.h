// The curve of a run in a report, and its numbers in few characters.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "chart/chart.h"

namespace aggregate_power {

// ---- Numbers of 64 levels as a text of one character each, for what a page holds by the thousand

inline constexpr int kCompactLevels = 64;
inline constexpr std::string_view kCompactCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Stands for a number that is missing: that is no level.
inline constexpr char kCompactMissing = '.';

// `levels` are limited to 0 to 63.
std::string compact_numbers(std::span<const std::optional<int>> levels);
// What a character stands for; nullopt: a missing number, or not one of ours.
std::optional<int> compact_level(char character);

// ---- The power of one run as a small curve

// A curve shows the window and this share of its length before and after it.
inline constexpr double kCurveMargin = 0.1;
inline constexpr std::size_t kCurveColumns = 40;

// The mean power of the GPUs, in columns of equal width.
struct RunCurve {
  struct Range {
    double low_w = 0;
    double high_w = 0;
  };
  std::vector<std::optional<Range>> columns;  // nullopt: unknown
  double peak_w = 0;

  // The peak, or what the curve usually is, three times, if the peak is a spike that would leave
  // nothing to see of other curves on its scale.
  double scale_w() const;
};

// From lines of the sum of all GPUs over Unix time.
RunCurve run_curve(const std::vector<Polyline>& sum, std::size_t gpus, Window window);

// A curve in compact numbers, two for each column: its lowest and its highest power, or the other
// way round where the curve falls. Level 0 is 0 W, the last one `scale_w` and more.
std::string compact_curve(const RunCurve& curve, double scale_w);

// The same as the data of an SVG path, in a view box of kCurveViewBox. The script of a page draws
// the same.
std::string curve_path(const std::string& compact);
inline constexpr const char* kCurveViewBox = "0 0 39 63";

}  // namespace aggregate_power
