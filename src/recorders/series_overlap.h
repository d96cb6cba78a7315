// Finds series that are of one GPU at the same time, although nothing says that each repeats its
// power: their labels do not tell several GPUs apart, or one GPU was queried twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorders/metric_labels.h"

namespace aggregate_power {

class SeriesOverlap {
 public:
  // Numbers a series. find() gives one that is written the same the same number.
  std::size_t add(const MetricLabels& series);
  std::size_t find(const MetricLabels& series);
  // It has a sample of this device.
  void note(std::size_t series, std::uint32_t device, double unix_s) {
    Series& noted = series_[series];
    noted.device = device;
    if (noted.samples++ == 0) noted.first_unix_s = noted.last_unix_s = unix_s;
    if (unix_s < noted.first_unix_s) noted.first_unix_s = unix_s;
    if (unix_s > noted.last_unix_s) noted.last_unix_s = unix_s;
  }
  // Adds the samples of another part of the recording, in which the devices have other numbers:
  // numbers[i] is that of device i. Series that were added there and here must have been added in
  // the same order.
  void merge(const SeriesOverlap& part, std::span<const std::uint32_t> numbers);
  // Those without a sample, as text.
  std::vector<std::string> silent() const;
  // Throws OverlapError if two series of one device meet in time. Instances of a divided GPU
  // (MIG), which repeat its power, may; so may series that follow each other, as when a pod ends.
  void check() const;

 private:
  struct Series {
    std::string text;  // empty: an instance
    std::uint32_t device = 0;
    std::uint64_t samples = 0;
    double first_unix_s = 0;
    double last_unix_s = 0;
  };

  static void add_samples(const Series& more, Series& to);

  std::vector<Series> series_;
  std::unordered_map<std::string, std::size_t> found_;  // by text
};

}  // namespace aggregate_power
