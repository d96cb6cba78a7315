// Schema 1: the mean power of a GPU over the samples inside a window. Contract.md A.7, with part 0
// rows 1 and 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/exact_mean.h"

namespace aggregate_power {

struct MeanPower {
  double avg_power_w = 0;  // per GPU
  std::size_t gpus = 0;
  // Range of the buckets: the part of the window that they represent.
  double first_unix_s = 0;
  double last_unix_s = 0;
};

// Gathers samples in buckets of one millisecond. A bucket's value is its watts divided by the GPUs
// in it; the result is the exact mean of the buckets. Readings of one GPU in one bucket are
// averaged; rows without a device name only add watts.
class MeanPowerGatherer final : public Analysis {
 public:
  // `has_devices`: the file has a device column.
  MeanPowerGatherer(Window window, bool has_devices);

  Wants wants() const override { return {.order = Order::by_rounded_time, .window = window_}; }
  void take(std::span<const Reading> readings) override;
  // Stamps went back by more than a moment: nothing here is right.
  bool out_of_order() const override { return out_of_order_; }
  void start_over() override { *this = MeanPowerGatherer(window_, has_devices_); }
  // The devices seen in the window, by Reading::device.
  std::vector<std::uint32_t> devices() const;
  // The plain mean of such a device's readings.
  double mean_w(std::uint32_t device) const {
    return places_[device].watts / static_cast<double>(places_[device].rows);
  }
  // Returns nullopt if no reading was in the window.
  std::optional<MeanPower> finish();

 private:
  struct Share {  // what one device contributed to a bucket
    std::uint32_t device;
    std::uint32_t repeat;  // index of the mean that counts, if there is more than one reading
    double watts;
  };
  struct Bucket {
    std::int64_t stamp_ms = 0;
    std::uint64_t number = 0;  // increases with each new bucket
    std::size_t rows = 0;
    std::vector<Share> shares;  // in order of arrival: the sum of watts depends on it
    std::vector<ExactMean> repeats;
  };
  struct Place {  // the newest bucket that a device has a share in, and the sum of its readings
    std::uint64_t bucket = 0;
    std::size_t share = 0;
    double watts = 0;
    std::uint64_t rows = 0;
  };
  void add(Bucket& bucket, std::uint32_t device, double watts);
  void add_late(Bucket& bucket, std::uint32_t device, double watts);
  Bucket* find_bucket(std::int64_t stamp_ms);
  void close_oldest();

  Window window_;
  bool has_devices_;
  std::deque<Bucket> open_;    // by time; older ones are closed
  std::vector<Bucket> spare_;  // closed ones, kept for their memory
  std::uint64_t begun_ = 0;
  std::int64_t closed_to_ms_;
  std::optional<std::int64_t> first_ms_;
  double newest_unix_s_;  // of the previous reading, with its bucket: usually also the next one's
  Bucket* newest_ = nullptr;
  ExactMean by_device_;        // of buckets, divided by their devices
  ExactMean by_row_;           // of buckets, divided by their rows
  std::vector<Place> places_;  // by device; devices never seen are in bucket 0
  std::size_t most_rows_ = 0;
  bool overflowed_ = false;  // a bucket's sum exceeds all doubles
  bool out_of_order_ = false;
};

// round(unix_s, 3) in milliseconds: correctly rounded from the exact binary value, ties to even.
std::int64_t rounded_ms(double unix_s);

}  // namespace aggregate_power
