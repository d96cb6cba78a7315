// How processes used a GPU over a period.
#pragma once

#include <cstddef>
#include <vector>

namespace aggregate_power {

struct ProcessUse {
  std::size_t process = 0;  // its number
  double use = 0;           // of the GPU's multiprocessors; above 0
};

// Over the period up to a time, since the record before.
struct ShareRecord {
  double unix_s = 0;
  bool is_known = false;  // the record has the GPU's processes, if any
  std::vector<ProcessUse> uses = {};
};

}  // namespace aggregate_power
