// Finds series that are of one GPU at the same time, although nothing says that each repeats its
// power: their labels do not tell several GPUs apart, or one GPU was queried twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recorders/metric_labels.h"

namespace aggregate_power {

class SeriesOverlap {
 public:
  // Numbers a series.
  std::size_t add(const MetricLabels& series);
  // It has a sample of this device.
  void note(std::size_t series, std::uint32_t device, double unix_s);
  // Throws TelemetryError if two series of one device meet in time. Instances of a divided GPU
  // (MIG), which repeat its power, may; so may series that follow each other, as when a pod ends.
  void check() const;

 private:
  struct Series {
    std::string text;  // for messages; empty: an instance
    std::uint32_t device = 0;
    std::uint64_t samples = 0;
    double first_unix_s = 0;
    double last_unix_s = 0;
  };

  std::vector<Series> series_;
};

}  // namespace aggregate_power
