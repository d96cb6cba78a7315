// A chart as data: its axes, its colours, its panels, and where points are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

// ---- Scales of a chart: from numbers to places, with ticks at round numbers

struct Tick {
  double at = 0;
  std::string label;
};

enum class Scale { linear, logarithmic };

// low < high; both above 0 on a logarithmic scale.
struct Axis {
  std::string title;  // with the unit: "power (W)"
  double low = 0;
  double high = 1;
  Scale scale = Scale::linear;
  std::vector<Tick> ticks = {};  // between low and high, ascending

  // 0 at `low`, 1 at `high`; beyond them less or more. On a logarithmic scale a value of 0 or less
  // has no place, which is minus infinity.
  double place(double value) const;
};

// The step 1, 2 or 5 times a power of ten that gives at most `most` steps over `span`, which is
// above 0; at least as large as `span` can be told apart at `high`.
double round_step(double span, std::size_t most);

// With ticks at multiples of a round step. If `low` equals `high`, the axis is widened around it.
// `is_exact`: the axis ends at `low` and `high`; otherwise both are moved outwards to ticks.
Axis linear_axis(std::string title, double low, double high, std::size_t most_ticks,
                 bool is_exact = false);
// With ticks at powers of ten, and at 2 and 5 times these if there are few. Both ends are moved
// outwards to 1, 2 or 5 times a power of ten. `low` and `high` are above 0.
Axis logarithmic_axis(std::string title, double low, double high);
// Seconds after some instant, with ticks in s, min, h or d: round numbers of these. The title is
// `what` and the unit: "time (min)".
Axis time_axis(std::string_view what, double low_s, double high_s, std::size_t most_ticks);

// A number at a tick, without rounding errors and without needless digits: as many decimals as
// `step` has.
std::string tick_label(double value, double step);

// ---- Colours and dashes that distinguish the series of a chart

// One colour, on a light and on a dark ground: "#0072b2".
struct Colour {
  std::string_view light;
  std::string_view dark;
};

// People who see no red, no green or no blue can tell these apart, too.
inline constexpr std::size_t kColours = 8;

// Of the series with that number from 0. Beyond kColours the colours begin again, with other
// dashes.
std::size_t colour_number(std::size_t series);  // below kColours
Colour colour_of(std::size_t series);
// As SVG's stroke-dasharray has it; empty: a solid line.
std::string_view dashes_of(std::size_t series);

// ---- A chart as data: what is drawn, in numbers, before it is an SVG or a text. Texts may be
// anything; what draws them escapes them.

struct Point {
  double x = 0;
  double y = 0;

  bool operator==(const Point&) const = default;
};
// Points that a line connects. What is missing between two points is a new polyline, not a point
// of 0. One point alone is drawn as a dot.
using Polyline = std::vector<Point>;

// The range of values at one x.
struct RangeAt {
  double x = 0;
  double low = 0;
  double high = 0;
};
using Ribbon = std::vector<RangeAt>;

struct ErrorBar {
  double low = 0;
  double high = 0;
};

// A measured point.
struct Dot {
  Point at;
  std::optional<ErrorBar> x_error = {};
  std::optional<ErrorBar> y_error = {};
  std::string label = {};    // beside it; empty: none
  std::string tooltip = {};  // all there is to say, with n: "tp 8, conc 64: 0.41 J/token, n = 5"
  bool is_marked = false;    // larger, with a ring around it
  std::string tag = {};      // attribute data-tag of its element, for scripts; empty: none
};

// What shares one colour, and one line of the legend.
struct Series {
  std::string label = {};    // in the legend; empty: not there
  std::string value = {};    // at the end of that line, flush right: "4165.455 J"
  std::string tooltip = {};  // empty: the label and the value
  std::size_t style = 0;     // colour and dashes
  bool is_ink = false;       // in the colour of the text instead, and stronger: a sum, a mean
  std::string tag = {};      // of its line, as a dot's
  std::vector<Polyline> lines = {};
  std::vector<Ribbon> ribbons = {};
  std::vector<Dot> dots = {};
};

// A stretch of the x axis, through all panels.
struct Stretch {
  enum class Kind { window, gap, invalid };
  Kind kind = Kind::window;
  double from = 0;
  double to = 0;
  std::string label = {};  // tooltip
};

// A horizontal line through a panel.
struct Level {
  enum class Kind { limit, idle, other };
  Kind kind = Kind::other;
  double y = 0;
  std::string label = {};  // on the line
};

// One pair of axes. Panels of a chart share the x axis and stand one above the other.
struct Panel {
  std::string title = {};  // above its legend
  Axis y;
  std::vector<Series> series = {};
  std::vector<Level> levels = {};
  double height = 240;  // pixels of the area between the axes
};

struct Chart {
  std::string title;
  std::string description;           // for those who cannot see it: what it shows, in a sentence
  std::vector<std::string> caption;  // paragraphs below: metric, boundary, formula, source
  Axis x;
  std::vector<Stretch> stretches = {};
  // What kinds of stretches mean, in a line below the axis.
  std::vector<std::pair<Stretch::Kind, std::string>> stretch_key = {};
  std::vector<Panel> panels = {};
  double width = 960;     // pixels of everything
  bool is_small = false;  // a sparkline: lines only, no axes and no text
};

// The parts of a line that have a place on both axes: NaN, infinity, and 0 on a logarithmic axis
// break it. In shares of the area, from 0 at the lower left.
std::vector<Polyline> placed_lines(const Polyline& line, const Axis& x, const Axis& y);

}  // namespace aggregate_power
