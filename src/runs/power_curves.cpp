// Decimates lines while they are read.
#include "runs/power_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "energy/idle_power.h"

namespace aggregate_power {
namespace {

// Columns of a picture's lines. It has no room for as many lines as there may be devices.
constexpr std::size_t kColumnsOfLine = 600;
constexpr std::size_t kFewDevices = 16;
constexpr std::size_t kColumnsOfMany = 250;
constexpr std::size_t kManyDevices = 256;
constexpr std::size_t kColumnsOfVeryMany = 60;
constexpr std::size_t kColumnsOfPicture = 13000;  // of all lines together
constexpr std::size_t kMostStretches = 256;
constexpr std::size_t kMostLimits = 4;

bool is_pause_between(std::span<const Window> pauses, double from, double to) {
  return std::ranges::any_of(pauses, [&](const Window& pause) {
    return pause.start_unix_s >= from && pause.end_unix_s <= to;
  });
}

// Breaks lines where the recorder was stopped.
std::vector<Polyline> broken_at(std::span<const Window> pauses, std::vector<Polyline> lines) {
  if (pauses.empty()) return lines;
  std::vector<Polyline> parts;
  for (const Polyline& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool begins = i == 0 || is_pause_between(pauses, line[i - 1].x, line[i].x);
      if (begins) parts.emplace_back();
      parts.back().push_back(line[i]);
    }
  }
  return parts;
}

// As it is drawn if each value lasts until the next one.
std::vector<Polyline> as_steps(std::vector<Polyline> lines) {
  for (Polyline& line : lines) {
    Polyline steps;
    for (const Point& point : line) {
      if (!steps.empty()) steps.push_back({point.x, steps.back().y});
      steps.push_back(point);
    }
    line = std::move(steps);
  }
  return lines;
}

void join_near(std::vector<Window>& stretches, double join_s) {
  std::ranges::sort(stretches, {}, &Window::start_unix_s);
  std::vector<Window> joined;
  for (const Window& stretch : stretches) {
    const bool is_near =
        !joined.empty() && stretch.start_unix_s - joined.back().end_unix_s <= join_s;
    if (is_near) {
      joined.back().end_unix_s = std::max(joined.back().end_unix_s, stretch.end_unix_s);
    } else {
      joined.push_back(stretch);
    }
  }
  stretches = std::move(joined);
}

}  // namespace

void FewStretches::add(Window stretch) {
  ++count_;
  if (!kept_.empty() && stretch.start_unix_s >= kept_.back().start_unix_s &&
      stretch.start_unix_s <= kept_.back().end_unix_s + join_s_) {
    kept_.back().end_unix_s = std::max(kept_.back().end_unix_s, stretch.end_unix_s);
    return;
  }
  kept_.push_back(stretch);
  while (kept_.size() > 2 * kMostStretches) {
    join_near(kept_, join_s_);
    if (kept_.size() <= kMostStretches) break;
    const double span_s = kept_.back().end_unix_s - kept_.front().start_unix_s;
    join_s_ = std::max(2 * join_s_, span_s / (4 * kMostStretches));
    join_near(kept_, join_s_);
  }
}

std::vector<Window> FewStretches::sorted() const {
  std::vector<Window> sorted = kept_;
  join_near(sorted, join_s_);
  return sorted;
}

std::size_t PowerCurveGatherer::columns_of_line() const {
  const std::size_t shared = kColumnsOfLine / std::max<std::size_t>(options_.recordings, 1);
  return std::max(shared, kColumnsOfVeryMany);
}

PowerCurveGatherer::PowerCurveGatherer(const PowerCurvesOptions& options)
    : options_(options),
      columns_(columns_of_line()),
      sum_of_all_(options.interpolation, options.max_gap_s),
      sum_(columns_),
      gaps_(0),
      invalid_(options.max_gap_s) {}

PowerCurveGatherer::Device& PowerCurveGatherer::device(std::uint32_t number) {
  if (number >= devices_.size()) devices_.resize(number + 1);
  if (devices_[number]) return *devices_[number];
  ++met_;
  const std::size_t most = met_ <= kFewDevices    ? kColumnsOfLine
                           : met_ <= kManyDevices ? kColumnsOfMany
                                                  : kColumnsOfVeryMany;
  const std::size_t columns = std::min(most, columns_of_line());
  if (columns < columns_) {
    for (auto& other : devices_) {
      if (other) other->line.limit(columns);
    }
  }
  columns_ = columns;
  return devices_[number].emplace(Device{.line = Decimator(columns_)});
}

bool PowerCurveGatherer::is_beside(double unix_s) const {
  const Window& window = *options_.window;
  return !window.contains(unix_s) && unix_s >= window.start_unix_s - kIdleWithinS &&
         unix_s <= window.end_unix_s + kIdleWithinS;
}

// A reading of 0 W outside of the window is of a GPU that is set up or torn down.
inline void PowerCurveGatherer::take_power(const Reading& reading) {
  if (options_.window) {
    if (!states_power(reading, *options_.window)) return;
    if (is_beside(reading.unix_s)) {
      device(reading.device).beside.push_back({reading.unix_s, reading.watts});
    }
  }
  Device& of = reading.device < devices_.size() && devices_[reading.device]
                   ? *devices_[reading.device]
                   : device(reading.device);
  if (of.count > 0 && reading.unix_s == of.unix_s) {
    of.watts_sum += reading.watts;
    ++of.count;
    return;
  }
  if (of.count > 0) {
    if (reading.unix_s < of.unix_s) is_out_of_order_ = true;
    if (is_out_of_order_) return;
    end_stamp(reading.device, of);
  }
  of.unix_s = reading.unix_s;
  of.watts_sum = reading.watts;
  of.count = 1;
}

void PowerCurveGatherer::end_stamp(std::uint32_t number, Device& of) {
  const Sample sample{of.unix_s,
                      of.count == 1 ? of.watts_sum : of.watts_sum / static_cast<double>(of.count)};
  bool is_connected = false;
  if (of.samples++ == 0) {
    of.first_unix_s = sample.unix_s;
  } else {
    const double gap_s = sample.unix_s - of.before.unix_s;
    const bool is_held = options_.interpolation == Interpolation::hold;
    is_connected = is_held || gap_s <= options_.max_gap_s;
    of.longest_gap_s = std::max(of.longest_gap_s, is_held ? 0 : gap_s);
    of.energy_j += gap_s * (is_held ? of.before.watts : (of.before.watts + sample.watts) / 2);
    if (!is_connected) gaps_.add({of.before.unix_s, sample.unix_s});
  }
  of.before = sample;
  of.highest_w = std::max(of.highest_w, sample.watts);
  of.line.add(sample.unix_s, sample.watts, is_connected);
  sum_of_all_.add(number, sample, is_connected);
}

void PowerCurveGatherer::take_other(const Reading& reading) {
  if (is_second_pass_) return;  // they were counted
  switch (reading.kind) {
    case Reading::Kind::no_device:
      ++unnamed_rows_;
      break;
    case Reading::Kind::bad_timestamp:
      ++unplaced_rows_;
      break;
    default:
      invalid_.add({reading.unix_s, reading.unix_s});
  }
}

std::span<const Reading> PowerCurveGatherer::select(const Batch& batch) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    const double limit_w = batch.states[i][GpuQuantity::power_limit_w];
    const std::uint32_t number = batch.readings[i].device;
    if (!(limit_w > 0) || number == kNoDevice) continue;
    if (number < newest_limits_w_.size() && newest_limits_w_[number] == limit_w) continue;
    if (number >= newest_limits_w_.size()) newest_limits_w_.resize(number + 1);
    newest_limits_w_[number] = limit_w;
    std::vector<double>& limits_w = device(number).limits_w;
    const bool is_new = std::ranges::find(limits_w, limit_w) == limits_w.end();
    if (is_new && limits_w.size() < kMostLimits) limits_w.push_back(limit_w);
  }
  return batch.readings;
}

void PowerCurveGatherer::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::power) {
      take_power(reading);
    } else {
      take_other(reading);
    }
  }
  if (sum_of_all_.is_ready() && !out_of_order()) take_sum(sum_of_all_.give());
}

void PowerCurveGatherer::take_sum(const PowerSum::Given& given) {
  if (given.restarts) sum_ = Decimator(columns_of_line());
  for (const PowerSum::Knot& knot : given.knots) {
    if (std::isfinite(knot.watts)) {
      sum_.add(knot.unix_s, knot.watts, knot.is_connected && sum_is_finite_);
    }
    sum_is_finite_ = std::isfinite(knot.watts);
  }
}

void PowerCurveGatherer::start_over() {
  for (auto& of : devices_) {
    if (!of) continue;
    of.emplace(Device{.line = Decimator(columns_), .limits_w = std::move(of->limits_w)});
  }
  sum_of_all_ = PowerSum(options_.interpolation, options_.max_gap_s);
  sum_ = Decimator(columns_of_line());
  gaps_ = FewStretches(0);
  is_out_of_order_ = false;
  is_second_pass_ = true;
}

// What of the window lies before a device's first sample or after its last one.
void PowerCurveGatherer::add_uncovered(const Device& of) {
  if (!options_.window || of.samples == 0) return;
  const Window& window = *options_.window;
  if (of.first_unix_s > window.start_unix_s && of.first_unix_s < window.end_unix_s) {
    gaps_.add({window.start_unix_s, of.first_unix_s});
  }
  if (of.before.unix_s < window.end_unix_s && of.before.unix_s > window.start_unix_s) {
    gaps_.add({of.before.unix_s, window.end_unix_s});
  }
}

PowerCurves PowerCurveGatherer::finish(std::span<const std::string> devices,
                                       std::span<const Window> pauses) {
  PowerCurves curves;
  // A picture of few lines has finer ones.
  const std::size_t most_columns = kColumnsOfPicture / (std::max<std::size_t>(met_, 1) + 1);
  const bool is_held = options_.interpolation == Interpolation::hold;
  const auto lines_of = [&](const Decimator& line) {
    std::vector<Polyline> lines = broken_at(pauses, line.lines());
    return is_held ? as_steps(std::move(lines)) : lines;
  };
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]) continue;
    Device& of = *devices_[i];
    if (of.count > 0) end_stamp(i, of);
    of.line.coarsen(most_columns);
    add_uncovered(of);
    if (of.samples == 0) continue;
    curves.devices.push_back({i < devices.size() ? devices[i] : std::string(), lines_of(of.line),
                              of.samples, of.first_unix_s, of.before.unix_s, of.energy_j,
                              of.longest_gap_s, of.highest_w, std::move(of.limits_w)});
    curves.beside.push_back({curves.devices.back().name, std::move(of.beside), {}});
  }
  take_sum(sum_of_all_.give_rest());
  curves.sum = lines_of(sum_);
  for (const Window& pause : pauses) gaps_.add(pause);
  curves.gaps = gaps_.sorted();
  curves.gap_count = gaps_.count();
  curves.invalid = invalid_.sorted();
  curves.invalid_rows = invalid_.count();
  curves.unnamed_rows = unnamed_rows_;
  curves.unplaced_rows = unplaced_rows_;
  return curves;
}

}  // namespace aggregate_power
