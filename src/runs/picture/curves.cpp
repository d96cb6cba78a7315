// Decimates the lines of devices, of their sum, and of what the load did.
#include "runs/picture/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text/lists.h"
#include "core/energy/fleet_power.h"
#include "energy/shares/idle.h"
#include "runs/picture/picture.h"

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

// As it is drawn if each value lasts until the next one, or since the one before (`is_back`).
std::vector<Polyline> as_steps(std::vector<Polyline> lines, bool is_back) {
  for (Polyline& line : lines) {
    Polyline steps;
    for (const Point& point : line) {
      if (!steps.empty() && is_back) steps.push_back({steps.back().x, point.y});
      if (!steps.empty() && !is_back) steps.push_back({point.x, steps.back().y});
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

void CurveRows::take_limits(const Batch& batch) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    const double limit_w = batch.states[i][GpuQuantity::power_limit_w];
    const std::uint32_t number = batch.readings[i].device;
    if (!(limit_w > 0) || number == kNoDevice) continue;
    if (number < newest_limits_w_.size() && newest_limits_w_[number] == limit_w) continue;
    if (number >= newest_limits_w_.size()) {
      newest_limits_w_.resize(number + 1);
      limits_w_.resize(number + 1);
    }
    newest_limits_w_[number] = limit_w;
    std::vector<double>& limits_w = limits_w_[number];
    const bool is_new = std::ranges::find(limits_w, limit_w) == limits_w.end();
    if (is_new && limits_w.size() < kMostLimits) limits_w.push_back(limit_w);
  }
}

void CurveRows::take(const Batch& batch) {
  if (with_limits_) take_limits(batch);
  for (const Reading& reading : batch.readings) {
    switch (reading.kind) {
      case Reading::Kind::power:
        break;
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
}

std::span<const double> CurveRows::limits_w(std::uint32_t device) const {
  return device < limits_w_.size() ? std::span<const double>(limits_w_[device])
                                   : std::span<const double>();
}

void CurveRows::give(PowerCurves& curves) const {
  curves.invalid = invalid_.sorted();
  curves.invalid_rows = invalid_.count();
  curves.unnamed_rows = unnamed_rows_;
  curves.unplaced_rows = unplaced_rows_;
}

namespace {

// A device's samples that count, one for each stamp.
struct CountedSamples {
  std::uint32_t device = 0;
  std::vector<Sample> samples = {};
  std::vector<Sample> beside = {};  // the window
};

// A reading of 0 W outside of the window is of a GPU that is set up or torn down.
CountedSamples counted_samples(std::uint32_t device, std::span<const Sample> samples,
                               const std::optional<Window>& window) {
  CountedSamples found{.device = device};
  std::uint64_t same = 0;  // readings with the newest stamp, whose sum is the newest sample
  const auto end_stamp = [&] {
    if (same > 1) found.samples.back().watts /= static_cast<double>(same);
  };
  for (const Sample& sample : samples) {
    if (window && !window->contains(sample.unix_s)) {
      if (!(sample.watts > 0)) continue;
      const bool is_near = sample.unix_s >= window->start_unix_s - kIdleWithinS &&
                           sample.unix_s <= window->end_unix_s + kIdleWithinS;
      if (is_near) found.beside.push_back(sample);
    }
    if (same > 0 && sample.unix_s == found.samples.back().unix_s) {
      found.samples.back().watts += sample.watts;
      ++same;
      continue;
    }
    end_stamp();
    found.samples.push_back(sample);
    same = 1;
  }
  end_stamp();
  return found;
}

// Draws the lines of a recording.
class CurveDrawing {
 public:
  CurveDrawing(const PowerCurvesOptions& options, std::span<const Window> pauses,
               std::size_t devices)
      : options_(options), pauses_(pauses), devices_(devices) {}

  DeviceCurve device_curve(const CountedSamples& of, std::string name,
                           std::span<const double> limits_w) {
    DeviceCurve curve{.name = std::move(name),
                      .lines = {},
                      .samples = of.samples.size(),
                      .first_unix_s = of.samples.front().unix_s,
                      .last_unix_s = of.samples.back().unix_s,
                      .limits_w = {limits_w.begin(), limits_w.end()}};
    Decimator line(columns_of_device());
    for (std::size_t i = 0; i < of.samples.size(); ++i) {
      const Sample& sample = of.samples[i];
      const bool is_connected = i > 0 && are_connected(rules_, of.samples[i - 1], sample);
      if (i > 0) add_stretch(of.samples[i - 1], sample, is_connected, curve);
      curve.highest_w = std::max(curve.highest_w, sample.watts);
      line.add(sample.unix_s, sample.watts, is_connected);
    }
    // A picture of few lines has finer ones.
    line.coarsen(kColumnsOfPicture / (std::max<std::size_t>(devices_, 1) + 1));
    add_uncovered(curve);
    curve.lines = lines_of(line);
    return curve;
  }

  // Where the power of every device is known.
  std::vector<Polyline> sum(const std::vector<CountedSamples>& all) const {
    auto devices = mapped<std::span<const Sample>>(all, &CountedSamples::samples);
    Decimator sum(columns_of_line());
    bool is_finite = true;  // up to the last knot
    sum_powers(rules_, devices, [&](const PowerKnot& knot) {
      if (std::isfinite(knot.watts)) {
        sum.add(knot.unix_s, knot.watts, knot.is_connected && is_finite);
      }
      is_finite = std::isfinite(knot.watts);
    });
    return lines_of(sum);
  }

  void give_gaps(PowerCurves& curves) {
    for (const Window& pause : pauses_) gaps_.add(pause);
    curves.gaps = gaps_.sorted();
    curves.gap_count = gaps_.count();
  }

 private:
  bool is_held() const { return options_.interpolation == Interpolation::hold; }

  void add_stretch(Sample before, Sample sample, bool is_connected, DeviceCurve& curve) {
    const double gap_s = sample.unix_s - before.unix_s;
    if (!is_held()) curve.longest_gap_s = std::max(curve.longest_gap_s, gap_s);
    curve.energy_j += gap_s * (is_held() ? before.watts : (before.watts + sample.watts) / 2);
    if (!is_connected) gaps_.add({before.unix_s, sample.unix_s});
  }

  // What of the window lies before a device's first sample or after its last one.
  void add_uncovered(const DeviceCurve& curve) {
    if (!options_.window) return;
    const Window& window = *options_.window;
    const auto is_inside = [&](double unix_s) {
      return unix_s > window.start_unix_s && unix_s < window.end_unix_s;
    };
    if (is_inside(curve.first_unix_s)) gaps_.add({window.start_unix_s, curve.first_unix_s});
    if (is_inside(curve.last_unix_s)) gaps_.add({curve.last_unix_s, window.end_unix_s});
  }

  std::size_t columns_of_line() const {
    const std::size_t shared = kColumnsOfLine / std::max<std::size_t>(options_.recordings, 1);
    return std::max(shared, kColumnsOfVeryMany);
  }

  std::size_t columns_of_device() const {
    const std::size_t most = devices_ <= kFewDevices    ? kColumnsOfLine
                             : devices_ <= kManyDevices ? kColumnsOfMany
                                                        : kColumnsOfVeryMany;
    return std::min(most, columns_of_line());
  }

  std::vector<Polyline> lines_of(const Decimator& line) const {
    std::vector<Polyline> lines = broken_at(pauses_, line.lines());
    return is_held() || options_.are_means ? as_steps(std::move(lines), !is_held()) : lines;
  }

  const PowerCurvesOptions& options_;
  PowerSumOptions rules_{options_.interpolation, options_.max_gap_s};
  std::span<const Window> pauses_;
  std::size_t devices_;
  FewStretches gaps_{0};
};

}  // namespace

PowerCurves power_curves(const PowerCurvesOptions& options, const Samples& samples,
                         const CurveRows& rows, std::span<const std::string> devices,
                         std::span<const Window> pauses) {
  std::vector<CountedSamples> all;
  for (std::uint32_t i = 0; i < samples.devices().size(); ++i) {
    all.push_back(counted_samples(i, samples.devices()[i], options.window));
  }
  std::erase_if(all, [](const CountedSamples& of) { return of.samples.empty(); });
  CurveDrawing drawing(options, pauses, all.size());
  PowerCurves curves;
  for (CountedSamples& of : all) {
    const std::string name = of.device < devices.size() ? devices[of.device] : std::string();
    curves.devices.push_back(drawing.device_curve(of, name, rows.limits_w(of.device)));
    curves.beside.push_back({name, std::move(of.beside), {}});
  }
  curves.sum = drawing.sum(all);
  drawing.give_gaps(curves);
  rows.give(curves);
  return curves;
}

// ---- What the load did over time: its requests in flight and its tokens per second

namespace {

constexpr std::size_t kColumns = 600;

// A line that keeps each value until the next one, from 0.
class Steps {
 public:
  void add(double x, double y) {
    line_.add(x, value_);
    line_.add(x, y);
    value_ = y;
  }
  std::vector<Polyline> lines() const { return line_.lines(); }

 private:
  Decimator line_{kColumns};
  double value_ = 0;
};

Panel panel_of(std::string title, std::string label, std::vector<Polyline> lines) {
  Panel panel{.y = {.title = std::move(title)}, .height = kLoadPanelHeight};
  panel.series.push_back({.label = std::move(label), .is_ink = true, .lines = std::move(lines)});
  return panel;
}

Panel in_flight_panel(const std::vector<RequestTimes>& requests, double start_s) {
  std::vector<std::pair<double, int>> changes;
  for (const RequestTimes& request : requests) {
    changes.emplace_back(request.start_s, 1);
    changes.emplace_back(request.end_s, -1);
  }
  std::ranges::sort(changes);  // at one instant the ends come first
  Steps steps;
  int in_flight = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    in_flight += changes[i].second;
    const bool is_last = i + 1 == changes.size() || changes[i + 1].first > changes[i].first;
    if (is_last) steps.add(changes[i].first - start_s, in_flight);
  }
  return panel_of("requests", "requests in flight", steps.lines());
}

// Tokens per second in columns of equal width.
class TokenRate {
 public:
  explicit TokenRate(Window span) : span_(span) {
    const double columns = std::ceil(span.duration_s());  // none shorter than 1 s
    tokens_.resize(static_cast<std::size_t>(std::clamp(columns, 1.0, kMostColumns)));
    width_s_ = span.duration_s() / static_cast<double>(tokens_.size());
  }

  // Spread evenly over their time.
  void add(double from_s, double to_s, std::int64_t tokens) {
    if (tokens <= 0) return;
    const double first = place(from_s);
    const double last = std::max(place(to_s), first);
    for (auto i = static_cast<std::size_t>(first); i < tokens_.size(); ++i) {
      const auto column = static_cast<double>(i);
      const double part = std::min(last, column + 1) - std::max(first, column);
      const double share = last > first ? part / (last - first) : 1;
      tokens_[i] += static_cast<double>(tokens) * share;
      if (last <= column + 1) break;
    }
    is_known_ = true;
  }

  bool is_known() const { return is_known_; }

  std::vector<Polyline> lines(double start_s) const {
    Steps steps;
    const double from = span_.start_unix_s - start_s;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      steps.add(from + static_cast<double>(i) * width_s_, tokens_[i] / width_s_);
    }
    steps.add(from + span_.duration_s(), 0);
    return steps.lines();
  }

 private:
  static constexpr double kMostColumns = 300;

  double place(double unix_s) const {
    const auto columns = static_cast<double>(tokens_.size());
    return std::clamp((unix_s - span_.start_unix_s) / width_s_, 0.0, std::nextafter(columns, 0.0));
  }

  Window span_;
  double width_s_ = 1;
  std::vector<double> tokens_;
  bool is_known_ = false;
};

}  // namespace

std::vector<Panel> load_panels(const PowerPicture& picture) {
  std::vector<RequestTimes> requests = picture.requests;
  std::erase_if(requests, [](const RequestTimes& request) { return !request.has_times(); });
  if (requests.empty()) return {};
  Window span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const RequestTimes& request : requests) {
    span.start_unix_s = std::min(span.start_unix_s, request.start_s);
    span.end_unix_s = std::max(span.end_unix_s, request.end_s);
  }
  const double start_s = picture.start_unix_s();
  std::vector<Panel> panels = {in_flight_panel(requests, start_s)};
  if (!(span.duration_s() > 0)) return panels;
  TokenRate input(span);
  TokenRate output(span);
  for (const RequestTimes& request : requests) {
    // What a failed request did is not known. Without a first token, prefill is not known either.
    if (request.failed) continue;
    const bool has_first = request.first_token_s >= request.start_s;
    if (has_first) input.add(request.start_s, request.first_token_s, request.input_tokens);
    output.add(has_first ? request.first_token_s : request.start_s, request.end_s,
               request.output_tokens);
  }
  if (input.is_known()) {
    panels.push_back(panel_of("tokens/s", "prefill: input tokens/s", input.lines(start_s)));
  }
  if (output.is_known()) {
    panels.push_back(panel_of("tokens/s", "decode: output tokens/s", output.lines(start_s)));
  }
  return panels;
}

}  // namespace aggregate_power
