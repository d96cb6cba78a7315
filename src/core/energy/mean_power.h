// Schema 1: the mean power of a GPU over the samples inside a window. Contract.md A.7, with part 0
// rows 1 and 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/exact_mean.h"

namespace aggregate_power {

struct MeanPower {
  double avg_power_w = 0;  // per GPU
  std::size_t gpus = 0;
  // Range of the buckets: the part of the window that they represent.
  double first_unix_s = 0;
  double last_unix_s = 0;
};

// Averages rows that share a millisecond, one such bucket after the other. A bucket's value is its
// watts divided by the GPUs in it; readings of one GPU in it are averaged; rows without a device
// name only add watts.
class MeanPowerBuckets {
 public:
  // The next row of the bucket that is open.
  void add(std::uint32_t device, double watts);
  void close();
  // Sets the mean. `gpus`: that were named; 0: none.
  void give(std::size_t gpus, MeanPower& mean) const;

 private:
  struct Share {  // what one device, or a row without one, contributed to the bucket
    double watts;
    std::size_t repeats;  // the mean that counts, if there is more than one reading
  };
  struct Place {  // the newest bucket that a device has a share in, counted from 1
    std::uint64_t bucket = 0;
    std::size_t share = 0;
  };
  void repeat(Share& first, double watts);

  std::vector<Share> shares_;  // in order of arrival: the sum of watts depends on it
  std::vector<ExactMean> repeats_;
  std::vector<Place> places_;  // by device
  std::size_t rows_ = 0;
  std::size_t devices_ = 0;
  std::uint64_t closed_ = 0;
  ExactMean by_device_;  // of buckets, divided by their devices
  ExactMean by_row_;     // of buckets, divided by their rows
  std::size_t most_rows_ = 0;
  bool overflowed_ = false;  // a bucket's sum exceeds all doubles
};

// The result is the exact mean of the buckets.
class MeanPowerGatherer {
 public:
  // `has_devices`: the file has a device column.
  MeanPowerGatherer(Window window, bool has_devices) : window_(window), has_devices_(has_devices) {}

  // The next readings, in the file's order.
  void take(std::span<const Reading> readings);
  std::size_t size() const { return rows_.size(); }  // rows that wait
  // Averages those that are surely complete.
  void average();
  // Rows were much earlier than those averaged before, so nothing here is right. After
  // start_over(), take the rows again: first those in one part of the recording, then those in a
  // later one.
  bool is_out_of_order() const { return is_out_of_order_; }
  void start_over();
  void begin(Window part) { part_ = part; }
  // The devices seen in the window, by Reading::device.
  std::vector<std::uint32_t> devices() const;
  // The plain mean of such a device's readings.
  double mean_w(std::uint32_t device) const {
    return seen_[device].watts / static_cast<double>(seen_[device].rows);
  }
  // The highest reading in the window, of any row.
  Sample highest() const { return highest_; }
  // Returns nullopt if no reading was in the window.
  std::optional<MeanPower> finish();

 private:
  struct Row {
    double unix_s = 0;
    double watts = 0;
    std::uint32_t device = 0;
  };
  struct Seen {  // of a device
    double watts = 0;
    std::uint64_t rows = 0;
  };
  void average(std::int64_t open_ms);

  Window window_;
  bool has_devices_;
  Window part_ = kAlways;
  std::vector<Row> rows_;  // that wait
  bool is_sorted_ = true;
  std::vector<Seen> seen_;  // by device
  Sample highest_;
  MeanPowerBuckets buckets_;
  std::optional<std::int64_t> first_ms_;
  std::optional<std::int64_t> last_ms_;  // of the buckets that were closed
  bool is_out_of_order_ = false;
};

// round(unix_s, 3) in milliseconds: correctly rounded from the exact binary value, ties to even.
std::int64_t rounded_ms(double unix_s);

}  // namespace aggregate_power
