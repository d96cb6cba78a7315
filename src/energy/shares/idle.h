// Finds a plateau of idle GPUs beside a load, and computes its mean power. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

struct IdleGpu {
  std::vector<Sample> samples;  // in time order, around the load; 0 W is no reading
  double load_w = 0;            // mean in the load's window
};

// What makes a plateau.
inline constexpr double kLeastIdleS = 10;  // between the first and the last reading
inline constexpr std::size_t kLeastIdleReadings = 10;
inline constexpr double kIdleWithinS = 60;       // of the window
inline constexpr double kBeforeLoadS = 2;        // not used: the load may begin early
inline constexpr double kAfterLoadS = 5;         // not used: GPUs calm down slowly
inline constexpr double kMostIdleSpread = 0.05;  // standard deviation relative to the level, or
inline constexpr double kMostIdleSpreadW = 3;
inline constexpr double kMostIdleLevel = 0.6;  // relative to the load's mean

// The plateau that all GPUs have before the window, or after it: the one nearest to the window that
// is long enough, as long as possible, in steps of 1 s. From the first to the last reading that all
// GPUs share.
std::optional<Window> idle_before(std::span<const IdleGpu> gpus, Window window, double max_gap_s);
std::optional<Window> idle_after(std::span<const IdleGpu> gpus, Window window, double max_gap_s);

// The least power at which a GPU was steady for 1 s outside the window, as far as its samples go.
// Returns nullopt if it never was.
std::optional<double> least_steady_w(const IdleGpu& gpu, Window window);

// Mean powers in a stretch.
struct IdleMeans {
  std::vector<Power> gpus;
  Power total;
};

// The mean of 3 to 20 blocks of equal length, each of at least 2 s and two readings where the
// stretch allows that; the uncertainty is that of the mean of independent blocks, so readings that
// resemble their neighbours do not count as new. Nullopt: some GPU has fewer than 10 readings or a
// longer gap than `max_gap_s`, or the stretch has less than 10 s.
std::optional<IdleMeans> idle_means(std::span<const IdleGpu> gpus, Window stretch,
                                    double max_gap_s);

// ---- Where in a recording a load ran, and what the recorder missed of it. Pure arithmetic.

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
