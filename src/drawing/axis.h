// Scales of a chart: from numbers to places, with ticks at round numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

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

}  // namespace aggregate_power
