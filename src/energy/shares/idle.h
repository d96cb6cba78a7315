// Finds a plateau of idle GPUs beside a load, and computes its mean power. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/idle_power.h"
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

// The least power at which a GPU was steady for 4 s outside the window, as far as its samples go.
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

}  // namespace aggregate_power
