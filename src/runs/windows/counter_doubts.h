// What is to be said of the energy counters of a report: where they differ from the power, and
// where they were not used.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runs/windows/window_report.h"

namespace aggregate_power {

class CounterDoubts {
 public:
  // `gpus` must outlive this object.
  explicit CounterDoubts(const std::vector<std::string>& gpus)
      : gpus_(gpus), of_gpus_(gpus.size()) {}

  void note(const WindowRow& row);
  // Of each GPU, the windows that its power measured although there is a counter, and the window in
  // which the two differ most.
  std::vector<std::string> notes() const;

 private:
  struct OfGpu {
    std::size_t unused = 0;  // windows
    std::string first_unused;
    double furthest_apart = 0;  // as a share of the power's energy
    std::string furthest;
    std::size_t outside = 0;  // windows in which the two differ by more than the interval
    std::string first_outside;
  };

  const std::vector<std::string>& gpus_;
  std::vector<OfGpu> of_gpus_;
};

}  // namespace aggregate_power
