// Adds the power curves of devices, and finds percentiles of the sum.
#include "core/energy/fleet_power.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "core/energy/exact_mean.h"
#include "core/energy/interpolation.h"

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

}  // namespace aggregate_power
