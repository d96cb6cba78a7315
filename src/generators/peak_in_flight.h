// How many requests of a load were in flight at once.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate_power/request.h"

namespace aggregate_power {

// Takes the requests in any order; 16 bytes for each whose times are known.
class PeakInFlight {
 public:
  void take(const RequestTimes& request);

  std::size_t requests() const { return starts_.size(); }
  // One that ends when another starts is not in flight with it.
  std::size_t peak() const;

 private:
  std::vector<double> starts_;
  std::vector<double> ends_;
};

}  // namespace aggregate_power
