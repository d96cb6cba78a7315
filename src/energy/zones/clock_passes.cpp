// Gives each row to the pass that it goes on with.
#include "energy/zones/clock_passes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aggregate_power::energy {
namespace {

constexpr double kPassFall_s = 3;
constexpr double kLongestPassStep_s = 60;
constexpr double kPassSteps = 4;  // a pause is longer than so many intervals
constexpr double kPassAround_s = 60;
constexpr std::size_t kMostPasses = 16;
constexpr std::size_t kMostPassFalls = 8;  // more: the rows have no order
constexpr std::size_t kFewestPassRows = 10;
constexpr std::size_t kFewestJoinedRows = 20;

bool begin_and_end_together(const ClockPass& a, const ClockPass& b) {
  constexpr double kTogether = 0.1;  // of the shorter one
  const double shorter_s = std::min(a.last_unix_s - a.first_unix_s, b.last_unix_s - b.first_unix_s);
  const double most_s = std::clamp(kTogether * shorter_s, kPassFall_s, kPassAround_s);
  return std::abs(a.first_unix_s - b.first_unix_s) <= most_s &&
         std::abs(a.last_unix_s - b.last_unix_s) <= most_s;
}

}  // namespace

Window SharedTime::window() const {
  return {std::max(earlier.first_unix_s, later.first_unix_s),
          std::min(earlier.last_unix_s, later.last_unix_s)};
}

bool ClockPasses::is_near(const ClockPass& pass) const {
  return pass.last_unix_s >= window_.start_unix_s - kPassAround_s &&
         pass.first_unix_s <= window_.end_unix_s + kPassAround_s;
}

bool ClockPasses::follows(double unix_s, const ClockPass& pass, double most_s) {
  return unix_s >= pass.last_unix_s && unix_s - pass.last_unix_s <= most_s;
}

void ClockPasses::begin_pass(double unix_s, Device& device) const {
  if (device.passes.size() >= kMostPasses) {
    auto least = std::ranges::find_if_not(device.passes,
                                          [&](const ClockPass& pass) { return is_near(pass); });
    if (least == device.passes.end()) {
      least = std::ranges::min_element(device.passes, {}, &ClockPass::rows);
    }
    device.passes.erase(least);
  }
  device.current = device.passes.size();
  device.passes.push_back({unix_s, unix_s, 1});
}

void ClockPasses::find_pass(double unix_s, Device& device) const {
  const double fall_s = device.passes[device.current].last_unix_s - unix_s;
  const double most_s = std::clamp(kPassSteps * device.step_s, kPassFall_s, kLongestPassStep_s);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < device.passes.size(); ++i) {
    const ClockPass& pass = device.passes[i];
    if (!follows(unix_s, pass, most_s)) continue;
    if (!best || pass.last_unix_s > device.passes[*best].last_unix_s) best = i;
  }
  if (best) device.current = *best;
  ClockPass& current = device.passes[device.current];
  const double step_s = unix_s - current.last_unix_s;
  const bool is_disorder = step_s < 0 && step_s >= -kPassFall_s;
  device.has_fallen |= fall_s > kPassFall_s;
  if (!best && !is_disorder) {
    device.falls += step_s < 0 ? 1 : 0;
    return begin_pass(unix_s, device);
  }
  current.first_unix_s = std::min(current.first_unix_s, unix_s);
  current.last_unix_s = std::max(current.last_unix_s, unix_s);
  ++current.rows;
}

void ClockPasses::look_at_step(const Reading& reading, Device& device) {
  constexpr double kRegular = 0.3;
  constexpr std::size_t kFewestRegular = 10;
  constexpr std::size_t kMostSmallFalls = 64;
  const double before_unix_s = std::exchange(device.previous_unix_s, reading.unix_s);
  const double step_s = reading.unix_s - before_unix_s;
  if (std::abs(step_s - device.step_s) <= kRegular * device.step_s) {
    if (++device.regular < kFewestRegular || !device.small) return;
    if (small_falls_.size() < kMostSmallFalls) small_falls_.push_back(*device.small);
    device.small.reset();
    return;
  }
  const bool is_small = step_s < 0 && step_s >= -kPassFall_s;
  device.small.reset();
  if (is_small && device.regular >= kFewestRegular) {
    device.small = {reading.device, before_unix_s, device.step_s - step_s};
  }
  device.regular = 0;
}

void ClockPasses::take(const Reading& reading) {
  constexpr double kSlowly = 0.05;
  if (reading.device >= devices_.size()) devices_.resize(std::size_t{reading.device} + 1);
  Device& device = devices_[reading.device];
  const double unix_s = reading.unix_s;
  extent_ = {std::min(extent_.start_unix_s, unix_s), std::max(extent_.end_unix_s, unix_s)};
  last_unix_s_ = unix_s;
  if (device.passes.empty()) {
    device.previous_unix_s = unix_s;
    return begin_pass(unix_s, device);
  }
  look_at_step(reading, device);
  if (device.falls > kMostPassFalls) return;
  ClockPass& current = device.passes[device.current];
  const double step_s = unix_s - current.last_unix_s;
  const bool is_step = step_s >= 0 && step_s <= kLongestPassStep_s;
  if (device.step_s == 0 && is_step) device.step_s = step_s;
  const double most_s = std::max(kPassSteps * device.step_s, kPassFall_s);
  if (!is_step || step_s > most_s) return find_pass(unix_s, device);
  device.step_s += kSlowly * (step_s - device.step_s);
  current.last_unix_s = unix_s;
  ++current.rows;
}

std::optional<SmallFall> ClockPasses::small_fall(Window window) const {
  const auto found = std::ranges::find_if(small_falls_, [&](const SmallFall& fall) {
    return fall.at_unix_s > window.start_unix_s && fall.at_unix_s - fall.back_s < window.end_unix_s;
  });
  return found == small_falls_.end() ? std::nullopt : std::optional(*found);
}

bool ClockPasses::falls() const { return std::ranges::any_of(devices_, &Device::has_fallen); }

std::vector<SharedTime> ClockPasses::shared() const {
  std::vector<SharedTime> found;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    if (!device.has_fallen || device.falls > kMostPassFalls) continue;
    std::optional<SharedTime> first;
    for (std::size_t b = 1; b < device.passes.size(); ++b) {
      for (std::size_t a = 0; a < b && !first; ++a) {
        const SharedTime both{i, device.passes[a], device.passes[b],
                              begin_and_end_together(device.passes[a], device.passes[b])};
        const std::size_t fewest = both.is_joined ? kFewestJoinedRows : kFewestPassRows;
        const bool are_long = both.earlier.rows >= fewest && both.later.rows >= fewest;
        const Window window = both.window();
        const bool is_shared = window.duration_s() > 0 &&
                               both.earlier.last_unix_s - both.later.first_unix_s > kPassFall_s &&
                               is_near({window.start_unix_s, window.end_unix_s, 0});
        if (are_long && is_shared) first = both;
      }
    }
    if (first) found.push_back(*first);
  }
  return found;
}

}  // namespace aggregate_power::energy
