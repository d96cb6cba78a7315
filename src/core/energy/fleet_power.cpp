// Adds the power curves of devices, and finds percentiles of the sum.
#include "core/energy/fleet_power.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <queue>
#include <utility>

#include "core/energy/curve.h"
#include "core/energy/exact_mean.h"

namespace aggregate_power {
namespace {

using Curve = std::vector<Sample>;

// Neumaier's sum: it keeps what each addition rounds off.
class Sum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// Sorts by time and joins samples with equal stamps.
void put_in_order(Curve& samples) {
  if (!std::ranges::is_sorted(samples, {}, &Sample::unix_s)) {
    std::ranges::sort(samples, {}, &Sample::unix_s);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size();) {
    const double unix_s = samples[i].unix_s;
    std::size_t end = i + 1;
    while (end < samples.size() && samples[end].unix_s == unix_s) ++end;
    double watts = samples[i].watts;
    if (end - i > 1) {
      ExactMean mean;
      for (std::size_t j = i; j < end; ++j) mean.add(samples[j].watts);
      watts = mean.mean();
    }
    samples[kept++] = {unix_s, watts};
    i = end;
  }
  samples.resize(kept);
}

// The part inside the window, including its edges; empty if the samples do not reach an edge.
Curve cut(const Curve& samples, Window window) {
  const double start = window.start_unix_s;
  const double end = window.end_unix_s;
  if (samples.size() < 2 || samples.front().unix_s > start || samples.back().unix_s < end) {
    return {};
  }
  const auto edge = [](auto right, double unix_s) {
    // A first sample on the edge has none before it, and needs none.
    const Sample left = right->unix_s > unix_s ? *(right - 1) : *right;
    return Sample{unix_s, watts_at(unix_s, left, *right)};
  };
  const auto at_start = std::ranges::lower_bound(samples, start, {}, &Sample::unix_s);
  const auto inside = std::ranges::upper_bound(samples, start, {}, &Sample::unix_s);
  const auto at_end = std::ranges::lower_bound(samples, end, {}, &Sample::unix_s);
  Curve curve;
  curve.reserve(static_cast<std::size_t>(at_end - inside) + 2);
  curve.push_back(edge(at_start, start));
  curve.insert(curve.end(), inside, at_end);
  curve.push_back(edge(at_end, end));
  return curve;
}

// The sum of two curves that start and end together.
Curve added(const Curve& a, const Curve& b) {
  Curve sum;
  sum.reserve(a.size() + b.size() - 2);
  sum.push_back({a.front().unix_s, a.front().watts + b.front().watts});
  for (std::size_t i = 1, j = 1; i < a.size() && j < b.size();) {
    const double unix_s = std::min(a[i].unix_s, b[j].unix_s);
    const auto watts = [unix_s](const Curve& curve, std::size_t right) {
      if (curve[right].unix_s == unix_s) return curve[right].watts;
      return watts_at(unix_s, curve[right - 1], curve[right]);
    };
    sum.push_back({unix_s, watts(a, i) + watts(b, j)});
    if (a[i].unix_s == unix_s) ++i;
    if (b[j].unix_s == unix_s) ++j;
  }
  sum.shrink_to_fit();  // devices often share their stamps
  return sum;
}

// Consumes the curves; there is at least one.
Curve added(std::span<Curve> curves) {
  if (curves.size() == 1) return std::move(curves[0]);
  const std::size_t half = curves.size() / 2;
  const Curve first = added(curves.first(half));
  const Curve second = added(curves.subspan(half));
  return added(first, second);
}

// How long the curve is at or below `watts`; without `at`, only below.
double time_below_s(std::span<const Sample> knots, double watts, bool at) {
  Sum time_s;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const double duration_s = knots[i].unix_s - knots[i - 1].unix_s;
    const auto [low, high] = std::minmax(knots[i - 1].watts, knots[i].watts);
    if (low == high) {
      if (low < watts || (at && low == watts)) time_s.add(duration_s);
    } else if (high <= watts) {
      time_s.add(duration_s);
    } else if (low < watts) {
      time_s.add(duration_s * ((watts - low) / (high - low)));
    }
  }
  return time_s.value();
}

}  // namespace

double FleetPower::energy_j(double from_unix_s, double to_unix_s) const {
  Sum joules;
  auto right = std::ranges::upper_bound(knots_, from_unix_s, {}, &Sample::unix_s);
  if (right == knots_.begin() && right != knots_.end()) ++right;
  for (; right != knots_.end() && (right - 1)->unix_s < to_unix_s; ++right) {
    Sample from = *(right - 1);
    Sample to = *right;
    if (from.unix_s < from_unix_s)
      from = {from_unix_s, watts_at(from_unix_s, *(right - 1), *right)};
    if (to.unix_s > to_unix_s) to = {to_unix_s, watts_at(to_unix_s, *(right - 1), *right)};
    joules.add((to.unix_s - from.unix_s) * (from.watts + to.watts) / 2.0);
  }
  return joules.value();
}

double FleetPower::quantile_w(double q) const {
  std::vector<double> powers;
  powers.reserve(knots_.size());
  for (const Sample& knot : knots_) {
    if (!std::isfinite(knot.watts)) return std::numeric_limits<double>::infinity();
    powers.push_back(knot.watts);
  }
  std::ranges::sort(powers);
  // The whole time, summed in the same way as any part of it.
  const double wanted_s = q * time_below_s(knots_, powers.back(), true);
  const auto high = std::ranges::partition_point(powers, [&](double watts) {
    return watts < powers.back() && time_below_s(knots_, watts, true) < wanted_s;
  });
  if (high == powers.begin()) return *high;
  const double low_w = *(high - 1);
  const double low_s = time_below_s(knots_, low_w, true);
  const double high_s = time_below_s(knots_, *high, false);
  if (high_s <= wanted_s) return *high;
  return low_w + (wanted_s - low_s) / (high_s - low_s) * (*high - low_w);
}

FleetPower sum_of(std::vector<FleetPower> curves, Window window) {
  std::vector<Curve> with_common_ends;
  for (FleetPower& curve : curves) {
    Curve knots(curve.knots().begin(), curve.knots().end());
    knots.front().unix_s = window.start_unix_s;
    knots.back().unix_s = window.end_unix_s;
    with_common_ends.push_back(std::move(knots));
  }
  return FleetPower(added(with_common_ends));
}

FleetCurve fleet_curve(std::vector<std::vector<Sample>> devices, Window window) {
  std::erase_if(devices, [](const Curve& samples) { return samples.empty(); });
  FleetCurve fleet;
  bool complete = !devices.empty();
  for (Curve& samples : devices) {
    put_in_order(samples);
    fleet.samples_in_window += samples_in(samples, window).size();
    samples = cut(samples, window);
    complete = complete && !samples.empty();
  }
  if (complete) fleet.power = FleetPower(added(devices));
  return fleet;
}

FleetCurve fleet_curve(const Samples& samples, Window window, double margin_s) {
  const Window around = {window.start_unix_s - margin_s, window.end_unix_s + margin_s};
  std::vector<Curve> devices;
  for (const Curve& device : samples.devices()) {
    std::ranges::copy_if(device, std::back_inserter(devices.emplace_back()), [&](Sample sample) {
      return around.contains(sample.unix_s) && (sample.watts > 0 || window.contains(sample.unix_s));
    });
  }
  return fleet_curve(std::move(devices), window);
}

// ---- Sweeps over the samples of all devices in time order.

namespace {

class SumSweep {
 public:
  SumSweep(const PowerSumOptions& options, std::span<const std::span<const Sample>> devices)
      : options_(options) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices_.push_back({devices[i]});
      next_.emplace(devices[i].front().unix_s, i);
    }
  }

  bool is_done() const { return next_.empty(); }

  // The next knot; nullopt: not every device is known there.
  std::optional<PowerKnot> pass() {
    if (passed_++ % kSumAgain == 0) sum_again();
    const double unix_s = next_.top().first;
    const bool is_connected = known_ == devices_.size();
    here_.clear();
    for (; !next_.empty() && next_.top().first == unix_s; next_.pop()) {
      here_.push_back(next_.top().second);
    }
    sum_w_ += slope_ * (unix_s - now_s_);
    now_s_ = unix_s;
    double together_w = 0;
    for (const std::size_t i : here_) together_w += arrive(devices_[i]);
    if (known_ == 0) {
      sum_w_ = together_w;
      slope_ = 0;
    }
    std::optional<PowerKnot> knot;
    if (known_ + here_.size() == devices_.size()) knot = {unix_s, sum_w_, is_connected};
    for (const std::size_t i : here_) leave(i);
    return knot;
  }

 private:
  static constexpr std::size_t kSumAgain = 1024;
  struct Device {
    std::span<const Sample> samples = {};
    std::size_t passed = 0;  // samples
    bool is_known = false;   // in the stretch after the last one of them
    double slope = 0;        // watts a second, in that stretch
  };

  bool is_held() const { return options_.interpolation == Interpolation::hold; }

  // Rounding errors must not add up over the recording.
  void sum_again() {
    sum_w_ = slope_ = 0;
    for (const Device& device : devices_) {
      if (!device.is_known) continue;
      const Sample& last = device.samples[device.passed - 1];
      sum_w_ += last.watts + device.slope * (now_s_ - last.unix_s);
      slope_ += device.slope;
    }
  }

  // At the device's next sample; returns its watts.
  double arrive(const Device& device) {
    const double watts = device.samples[device.passed].watts;
    if (!device.is_known) {
      sum_w_ += watts;
      return watts;
    }
    if (is_held()) sum_w_ += watts - device.samples[device.passed - 1].watts;
    slope_ -= device.slope;
    --known_;
    return watts;
  }

  // From there to the one after it.
  void leave(std::size_t i) {
    Device& device = devices_[i];
    const Sample sample = device.samples[device.passed++];
    const Sample* const next =
        device.passed < device.samples.size() ? &device.samples[device.passed] : nullptr;
    if (next != nullptr) next_.emplace(next->unix_s, i);
    device.slope = 0;
    device.is_known = is_held() || (next != nullptr && are_connected(options_, sample, *next));
    if (!device.is_known) {
      sum_w_ -= sample.watts;
      return;
    }
    ++known_;
    if (!is_held()) device.slope = (next->watts - sample.watts) / (next->unix_s - sample.unix_s);
    slope_ += device.slope;
  }

  const PowerSumOptions& options_;
  std::vector<Device> devices_;
  using Next = std::pair<double, std::size_t>;  // the time of a device's next sample
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  std::vector<std::size_t> here_;  // devices with a sample at this time, by number
  std::size_t passed_ = 0;         // knots
  // Of the devices that are known.
  double now_s_ = 0;
  double sum_w_ = 0;
  double slope_ = 0;
  std::size_t known_ = 0;
};

}  // namespace

bool are_connected(const PowerSumOptions& options, Sample before, Sample after) {
  return options.interpolation == Interpolation::hold ||
         after.unix_s - before.unix_s <= options.max_gap_s;
}

void sum_powers(const PowerSumOptions& options, std::span<const std::span<const Sample>> devices,
                const std::function<void(const PowerKnot&)>& take) {
  if (devices.empty()) return;
  SumSweep sweep(options, devices);
  while (!sweep.is_done()) {
    if (const auto knot = sweep.pass()) take(*knot);
  }
}

}  // namespace aggregate_power
