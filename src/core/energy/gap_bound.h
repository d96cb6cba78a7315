// How far the energy of a window can be off because of what is between two samples.
// GapBound: contract-october.md section 8, row 1.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// In a gap the power is taken to be linear. It was between the GPU's lowest and highest power, so
// the energy is off by at most the gap's length inside the window, times the larger distance from
// its mean to those two. Lowest and highest are those of all samples of the GPU: its own limits are
// not known. Gaps up to kDefaultMaxSampleGapS are not counted.
class GapBound {
 public:
  explicit GapBound(Window window) : window_(window) {}

  // Takes a sample of a device, in time order.
  void add(std::uint32_t device, Sample sample);
  // In joules.
  double bound_j(std::uint32_t device) const;

 private:
  struct Gap {
    double inside_s = 0;
    double mean_w = 0;  // inside the window, if the power is linear
  };
  struct Device {
    Sample last = {-std::numeric_limits<double>::infinity(), 0};
    double lowest_w = std::numeric_limits<double>::infinity();
    double highest_w = 0;
    std::vector<Gap> gaps;
  };
  void note_gap(Sample before, Sample after, Device& device);

  Window window_;
  std::vector<Device> devices_;  // by number
};

// ---- At the edges of a window

// The power steps up or down at the window's start or end, and a reading is a mean over up to 1 s:
// where between two readings it steps, nobody knows.
struct HiddenEdges {
  double joules = 0;     // by which the energy may be off
  double step_w = 0;     // the larger one
  double between_s = 0;  // readings there, or the time for which one is held
};
// `samples` are in time order.
HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window);

}  // namespace aggregate_power
