// Where in a recording a load ran, and what the recorder missed of it. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Idle power and load of a recording: its readings below and above the middle of their range. One
// whose highest reading is less than 1.5 times the lowest is all load.
struct RecordedLoad {
  double idle_w = 0;  // means of a GPU; 0: there is no idle power
  double load_w = 0;
  bool has_both = false;
  Window stretch;  // from the first reading under load to the last, of all GPUs
};

// Of GPUs with at least one reading; each has its samples in time order.
RecordedLoad recorded_load(std::span<const std::span<const Sample>> gpus);

// Two neighbouring readings of a GPU, far apart.
struct RecordedGap {
  std::size_t gpu = 0;
  Window window;
  // In relation to the load's stretch. Before it and after it no run is affected.
  enum class Place { under_load, at_begin, at_end, without_load };
  Place place = Place::under_load;
};

// The longest that a run would be affected by, else the longest; nullopt: none is longer than
// `least_s`.
std::optional<RecordedGap> worst_gap(std::span<const std::span<const Sample>> gpus,
                                     const RecordedLoad& load, double least_s);

// The power of a GPU in a window and next to it.
struct PowerNear {
  double mean_w = 0;  // of the readings in the window
  double high_w = 0;  // a tenth of them are higher
  // Medians from 1 s before the window's start, and from 1 s after its end; nullopt: fewer than
  // three readings within 20 s.
  std::optional<double> before_w;
  std::optional<double> after_w;

  // The lower one of the two; nullopt: neither is known.
  std::optional<double> beside_w() const;
  // Whether it is higher in the window than next to it, on either side.
  bool rises() const;
  // Whether both sides are known, and it is the same in the window and on either side.
  bool stays() const;
  // Whether it goes up at the window's start and down at its end.
  bool steps() const;
};
// Returns nullopt if the window has no reading. `samples` are in time order.
std::optional<PowerNear> power_near(std::span<const Sample> samples, Window window);

}  // namespace aggregate_power
