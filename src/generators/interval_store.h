// Many intervals in memory, in the order of their starts. 24 bytes each, without the spare room of
// one growing array.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "generators/trace_interval.h"

namespace aggregate_power {

class IntervalStore {
 public:
  void add(const TraceInterval& interval);
  std::size_t size() const { return size_; }
  // Meaningful only if there are some.
  double first_start_s() const { return first_start_s_; }
  double last_end_s() const { return last_end_s_; }

  // Passes all of them in the order of their starts; of those that start together, the longest
  // first. Sorts in place.
  void each(const std::function<void(const TraceInterval&)>& take);

 private:
  void sort();

  std::vector<std::vector<TraceInterval>> chunks_;  // all but the last are full
  std::size_t size_ = 0;
  double first_start_s_ = 0;
  double last_end_s_ = 0;
  bool is_sorted_ = true;  // each chunk in itself
};

}  // namespace aggregate_power
