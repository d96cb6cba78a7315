// Sweeps over the samples of all devices in time order.
#include "energy/power_sum.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace aggregate_power {
namespace {

// So many samples wait for a device that lags behind, and no more.
constexpr std::size_t kMostWaiting = 1 << 18;

}  // namespace

void PowerSum::begin_device(std::uint32_t device, Sample first) {
  if (device >= devices_.size()) devices_.resize(device + 1);
  devices_[device].is_seen = true;
  devices_[device].newest_s = first.unix_s;
  ++seen_;
  restarts_ = true;
}

double PowerSum::frontier_s() const {
  double frontier_s = newest_s_;
  if (is_held_ || waiting_.size() > kMostWaiting) return frontier_s;
  for (const Device& device : devices_) {
    const bool is_awaited = device.is_seen && newest_s_ - device.newest_s <= max_gap_s_;
    if (is_awaited) frontier_s = std::min(frontier_s, device.newest_s);
  }
  return frontier_s;
}

void PowerSum::find_next() {
  for (Device& device : devices_) device.next = kNone;
  next_.resize(waiting_.size());
  for (std::size_t i = waiting_.size(); i-- > 0;) {
    Device& device = devices_[waiting_[i].device];
    next_[i] = device.next;
    device.next = i;
  }
}

// Rounding errors must not add up over the recording.
void PowerSum::sum_again() {
  sum_w_ = slope_ = 0;
  for (const Device& device : devices_) {
    if (!device.is_known) continue;
    sum_w_ += device.last.watts + device.slope * (now_s_ - device.last.unix_s);
    slope_ += device.slope;
  }
}

// From the knot `at` to the device's next one.
void PowerSum::leave(std::size_t at) {
  const Waiting& knot = waiting_[at];
  Device& device = devices_[knot.device];
  device.last = {knot.unix_s, knot.watts};
  device.slope = 0;
  const Waiting* const next = next_[at] == kNone ? nullptr : &waiting_[next_[at]];
  device.is_known = is_held_ || (next != nullptr && next->is_connected);
  if (!device.is_known) {
    sum_w_ -= knot.watts;
    return;
  }
  ++known_;
  if (!is_held_) device.slope = (next->watts - knot.watts) / (next->unix_s - knot.unix_s);
  slope_ += device.slope;
}

// The knots of one time.
void PowerSum::pass(std::size_t begin, std::size_t end) {
  const double unix_s = waiting_[begin].unix_s;
  const bool is_connected = known_ == seen_;
  sum_w_ += slope_ * (unix_s - now_s_);
  now_s_ = unix_s;
  double together_w = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Device& device = devices_[waiting_[i].device];
    together_w += waiting_[i].watts;
    if (!device.is_known) {
      sum_w_ += waiting_[i].watts;
      continue;
    }
    if (is_held_) sum_w_ += waiting_[i].watts - device.last.watts;
    slope_ -= device.slope;
    --known_;
  }
  if (known_ == 0) {
    sum_w_ = together_w;
    slope_ = 0;
  }
  if (known_ + (end - begin) == seen_) knots_.push_back({unix_s, sum_w_, is_connected});
  for (std::size_t i = begin; i < end; ++i) leave(i);
}

PowerSum::Given PowerSum::give_until(double end_s) {
  knots_.clear();
  if (!is_sorted_) std::ranges::stable_sort(waiting_, {}, &Waiting::unix_s);
  is_sorted_ = true;
  find_next();
  sum_again();
  std::size_t begin = 0;
  while (begin < waiting_.size() && waiting_[begin].unix_s < end_s) {
    std::size_t end = begin + 1;
    while (end < waiting_.size() && waiting_[end].unix_s == waiting_[begin].unix_s) ++end;
    pass(begin, end);
    begin = end;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(begin));
  room_ = std::max(kLeastRoom, 2 * waiting_.size());
  done_until_s_ = std::max(done_until_s_, end_s);
  return {knots_, std::exchange(restarts_, false)};
}

PowerSum::Given PowerSum::give_rest() {
  return give_until(std::numeric_limits<double>::infinity());
}

}  // namespace aggregate_power
