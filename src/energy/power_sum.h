// Sums the power of devices at every instant, while it is read. Pure arithmetic: no files, no
// clock, no printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// The sum of all devices' powers, each linear between its samples, or held: a knot at each of their
// stamps. It is known only where the power of every device is known: not before one's first sample,
// after its last one, or where two of its samples are not connected. Memory and time do not depend
// on how long the recording is.
class PowerSum {
 public:
  // A device without a sample for longer than `max_gap_s` is not waited for.
  PowerSum(Interpolation interpolation, double max_gap_s)
      : is_held_(interpolation == Interpolation::hold), max_gap_s_(max_gap_s) {}

  struct Knot {
    double unix_s = 0;
    double watts = 0;
    bool is_connected = false;  // with the knot before it
  };

  // A sample of one device, after its last one. `is_connected`: its power is known since then.
  void add(std::uint32_t device, Sample sample, bool is_connected) {
    if (device >= devices_.size() || !devices_[device].is_seen) begin_device(device, sample);
    devices_[device].newest_s = sample.unix_s;
    if (sample.unix_s < newest_s_) {
      is_sorted_ = false;
      is_late_ = is_late_ || sample.unix_s < done_until_s_;
    } else {
      newest_s_ = sample.unix_s;
    }
    waiting_.push_back({sample.unix_s, sample.watts, device, is_connected});
  }
  // A sample came after knots later than it had been given out, so the sum is not right: start
  // over, with samples in time order.
  bool is_late() const { return is_late_; }
  // Whether give() is worth its time.
  bool is_ready() const { return waiting_.size() >= room_; }

  // The knots that are certain by now, in time order; valid until the next call. `restarts`: a new
  // device makes all that was given out before meaningless.
  struct Given {
    std::span<const Knot> knots;
    bool restarts = false;
  };
  Given give() { return give_until(frontier_s()); }
  // All that are left; call it once, after the last sample.
  Given give_rest();

 private:
  struct Waiting {
    double unix_s = 0;
    double watts = 0;
    std::uint32_t device = 0;
    bool is_connected = false;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kLeastRoom = 4096;
  struct Device {
    bool is_seen = false;
    bool is_known = false;     // in the stretch after the last knot
    double newest_s = 0;       // of its samples
    double slope = 0;          // watts a second, in that stretch
    Sample last = {};          // its last knot
    std::size_t next = kNone;  // among those that wait
  };

  void begin_device(std::uint32_t device, Sample first);
  double frontier_s() const;
  Given give_until(double end_s);
  void find_next();
  void pass(std::size_t begin, std::size_t end);
  void leave(std::size_t at);
  void sum_again();

  bool is_held_;
  double max_gap_s_;
  std::vector<Device> devices_;  // by number
  std::size_t seen_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::size_t> next_;  // of each that waits: the device's next one
  std::vector<Knot> knots_;
  std::size_t room_ = kLeastRoom;
  bool is_sorted_ = true;
  bool is_late_ = false;
  bool restarts_ = false;
  double newest_s_ = -1e300;
  double done_until_s_ = -1e300;
  // Of the devices that are known.
  double now_s_ = 0;
  double sum_w_ = 0;
  double slope_ = 0;
  std::size_t known_ = 0;
};

}  // namespace aggregate_power
