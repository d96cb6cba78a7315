// Chooses ticks and colours, and places points.
#include "chart/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

constexpr std::array<Colour, kColours> kPalette = {{
    {"#0072b2", "#4aa8ea"},
    {"#ff6400", "#f08020"},
    {"#4dadd0", "#c9e4ff"},
    {"#005223", "#1fe08e"},
    {"#6616e6", "#8a5cff"},
    {"#da8d72", "#b56a6a"},
    {"#805f74", "#f7a8cf"},
    {"#271b1f", "#f2e640"},
}};

constexpr std::array<std::string_view, 4> kDashes = {"", "6 2.5", "1.5 2.5", "8 2.5 1.5 2.5"};

// Exact where a double can be: 1e-1 is the nearest double, and not 1 / 10.000000000000002.
double power_of_ten(int exponent) {
  return exponent < 0 ? 1 / std::pow(10.0, -exponent) : std::pow(10.0, exponent);
}

struct RoundNumber {
  int digit;     // 1, 2 or 5
  int exponent;  // of ten
  double value() const {
    return exponent < 0 ? digit / std::pow(10.0, -exponent) : digit * power_of_ten(exponent);
  }
};

RoundNumber next(RoundNumber number) {
  if (number.digit == 1) return {2, number.exponent};
  if (number.digit == 2) return {5, number.exponent};
  return {1, number.exponent + 1};
}

// The largest that is not above `value`, which is above 0.
RoundNumber round_below(double value) {
  const int exponent = static_cast<int>(std::floor(std::log10(value)));
  RoundNumber below{1, exponent - 1};
  while (next(below).value() <= value) below = next(below);
  return below;
}

struct Unit {
  std::string_view name;
  double seconds;
  double from_s;  // the shortest span that is shown in it
};
constexpr Unit kUnits[] = {
    {"d", 86400, 4 * 86400}, {"h", 3600, 2 * 3600}, {"min", 60, 3 * 60}, {"s", 1, 0}};

// Multiples of `step` from `low` to `high`, times `unit`.
std::vector<Tick> multiples(double low, double high, double step, double unit = 1) {
  std::vector<Tick> ticks;
  const double slack = step * 1e-9;
  constexpr std::size_t kMost = 1000;  // a step that is lost in rounding gives no endless row
  for (double number = std::ceil((low - slack) / step);
       number * step <= high + slack && ticks.size() < kMost; ++number) {
    const double value = number * step;
    ticks.push_back({value * unit, tick_label(value, step)});
  }
  return ticks;
}

}  // namespace

std::vector<Polyline> placed_lines(const Polyline& line, const Axis& x, const Axis& y) {
  std::vector<Polyline> parts;
  bool is_connected = false;
  for (const Point& point : line) {
    const Point place{x.place(point.x), y.place(point.y)};
    if (!std::isfinite(place.x) || !std::isfinite(place.y)) {
      is_connected = false;
      continue;
    }
    if (!is_connected) parts.emplace_back();
    is_connected = true;
    parts.back().push_back(place);
  }
  return parts;
}

std::size_t colour_number(std::size_t series) { return series % kColours; }

Colour colour_of(std::size_t series) { return kPalette[colour_number(series)]; }

std::string_view dashes_of(std::size_t series) {
  return kDashes[series / kColours % kDashes.size()];
}

double Axis::place(double value) const {
  if (scale == Scale::linear) return (value - low) / (high - low);
  if (!(value > 0)) return -std::numeric_limits<double>::infinity();
  return std::log(value / low) / std::log(high / low);
}

double round_step(double span, std::size_t most) {
  const double least = span / static_cast<double>(std::max<std::size_t>(most, 1));
  RoundNumber step = round_below(std::max(least, std::numeric_limits<double>::min() * 10));
  while (step.value() < least * (1 - 1e-12)) step = next(step);
  return step.value();
}

std::string tick_label(double value, double step) {
  // What rounding leaves of 0 is not -0, or 1e-17.
  if (std::abs(value) < std::abs(step) * 1e-6) return "0";
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(step)) + 1e-9));
  if (std::abs(value) >= 1e7 || exponent < -6) {
    constexpr int kFewest = 6;
    constexpr int kMost = 17;  // that a double has
    const int digits = static_cast<int>(std::floor(std::log10(std::abs(value)))) - exponent + 1;
    return fmt::format("{:.{}g}", value, std::clamp(digits, kFewest, kMost));
  }
  return fmt::format("{:.{}f}", value, std::max(0, -exponent));
}

Axis linear_axis(std::string title, double low, double high, std::size_t most_ticks,
                 bool is_exact) {
  if (!(high > low)) {
    const double around = std::max(std::abs(low) * 0.5, 0.5);
    return linear_axis(std::move(title), low - around, low + around, most_ticks, is_exact);
  }
  const double least = std::max(std::abs(low), std::abs(high)) * 1e-13;
  const double step = round_step(std::max(high - low, least), most_ticks);
  Axis axis{std::move(title), low, high};
  if (!is_exact) {
    axis.low = std::floor(low / step + 1e-9) * step;
    axis.high = std::ceil(high / step - 1e-9) * step;
  }
  axis.ticks = multiples(axis.low, axis.high, step);
  return axis;
}

Axis logarithmic_axis(std::string title, double low, double high) {
  if (!(high > low)) return logarithmic_axis(std::move(title), low / 2, low * 2);
  const RoundNumber first = round_below(low * (1 + 1e-12));
  RoundNumber last = round_below(high);
  if (last.value() < high * (1 - 1e-12)) last = next(last);
  constexpr int kFewDecades = 3;
  const bool is_short = last.exponent - first.exponent <= kFewDecades;
  Axis axis{std::move(title), first.value(), last.value(), Scale::logarithmic};
  for (RoundNumber number = first; number.value() <= axis.high; number = next(number)) {
    if (!is_short && number.digit != 1) continue;
    axis.ticks.push_back({number.value(), fmt::format("{:g}", number.value())});
  }
  return axis;
}

Axis time_axis(std::string_view what, double low_s, double high_s, std::size_t most_ticks) {
  if (!(high_s > low_s)) return time_axis(what, low_s - 0.5, low_s + 0.5, most_ticks);
  const double span_s = high_s - low_s;
  const Unit& unit =
      *std::ranges::find_if(kUnits, [&](const Unit& each) { return span_s >= each.from_s; });
  Axis axis{fmt::format("{} ({})", what, unit.name), low_s, high_s};
  const double step = round_step(span_s / unit.seconds, most_ticks);
  axis.ticks = multiples(low_s / unit.seconds, high_s / unit.seconds, step, unit.seconds);
  return axis;
}

}  // namespace aggregate_power
