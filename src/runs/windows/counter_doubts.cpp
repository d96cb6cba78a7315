// Keeps the first and the worst window of each GPU.
#include "runs/windows/counter_doubts.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/energy/counter_trace.h"

namespace aggregate_power {

void CounterDoubts::note(const WindowRow& row) {
  for (std::size_t i = 0; i < row.gpus.size(); ++i) {
    const GpuWindow& gpu = row.gpus[i];
    OfGpu& noted = of_gpus_[i];
    if (!gpu.counter_fault.empty() && gpu.fault.empty() && noted.unused++ == 0) {
      noted.first_unused = fmt::format("{}: {}", printable(row.name), gpu.counter_fault);
    }
    if (gpu.counter_off_j && std::abs(*gpu.counter_off_j) > gpu.repeatability_half_j &&
        noted.outside++ == 0) {
      noted.first_outside = fmt::format(
          "{}: the counter is {:+.3f} J off the power, whose interval is {:.3f} J to either side",
          printable(row.name), *gpu.counter_off_j, gpu.repeatability_half_j);
    }
    if (!gpu.counter_energy_j || !gpu.power_energy_j) continue;
    const double apart = std::abs(*gpu.counter_energy_j / *gpu.power_energy_j - 1);
    if (!contradict(*gpu.counter_energy_j, *gpu.power_energy_j, *gpu.counter_resolution_j) ||
        apart <= noted.furthest_apart) {
      continue;
    }
    noted.furthest_apart = apart;
    noted.furthest = fmt::format(
        "note: GPU {}: in window {} its energy counter says {:.3f} J, its power {:.3f} J; the counter is used",
        printable(gpus_[i]), printable(row.name), *gpu.counter_energy_j, *gpu.power_energy_j);
  }
}

std::vector<std::string> CounterDoubts::notes() const {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const OfGpu& noted = of_gpus_[i];
    if (noted.unused > 0) {
      notes.push_back(fmt::format("note: GPU {}: its power is used in {} window{}; the first is {}",
                                  printable(gpus_[i]), noted.unused, noted.unused == 1 ? "" : "s",
                                  noted.first_unused));
    }
    if (!noted.furthest.empty()) notes.push_back(noted.furthest);
    if (noted.outside > 0) {
      notes.push_back(fmt::format(
          "note: GPU {}: its counter disagrees with the power by more than the interval in {} window{}; the first is {}",
          printable(gpus_[i]), noted.outside, noted.outside == 1 ? "" : "s", noted.first_outside));
    }
  }
  return notes;
}

}  // namespace aggregate_power
