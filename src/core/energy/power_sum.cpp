// Sweeps over the samples of all devices in time order.
#include "core/energy/power_sum.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace aggregate_power {
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
