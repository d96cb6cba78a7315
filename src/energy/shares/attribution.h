// Shares the energy of a GPU among the intervals that ran on it. Pure arithmetic.
//
// At each instant the power is that of the intervals that are open then, in equal parts, and of the
// rest if none is: all shares together are the integral of the power over the window.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/energy/curve.h"
#include "generators/gpu_trace.h"

namespace aggregate_power {

// A sum of many small numbers that loses nothing of them.
class CarriedSum {
 public:
  void add(double value);
  void add(const CarriedSum& other);
  CarriedSum less(const CarriedSum& other) const;
  double value() const { return high_ + low_; }

 private:
  double high_ = 0;
  double low_ = 0;  // what high_ rounds off
};

// What intervals got.
struct EnergyShare {
  std::uint64_t calls = 0;
  std::uint64_t short_calls = 0;  // shorter than the sensor's period
  CarriedSum time_s;              // in which they got power
  CarriedSum energy_j;

  void add(const EnergyShare& other);
};

// Which of the intervals of one track that are open at once gets power.
enum class Nesting {
  none,       // each: tracks do not matter
  innermost,  // the one that was opened last
  outermost,  // the one that was opened first
};

// One interval with its share; what lies outside of the window is cut off.
struct SharedInterval {
  TraceInterval interval;
  double energy_j = 0;
};

struct AttributionRules {
  Window window;  // of the power's times
  Nesting nesting = Nesting::none;
  double sensor_period_s = 0;
  double shift_s = 0;  // from the intervals' times to the power's
  // Receives each interval that meets the window, when it ends; may be empty.
  std::function<void(const SharedInterval&)> each = {};
};

struct EnergyShares {
  std::vector<EnergyShare> by_name;  // by TraceInterval::name
  EnergyShare rest;                  // while no interval was open
  std::uint64_t outside = 0;         // intervals that do not meet the window
};

// Adds to `shares`, so that several GPUs can be added up. The power must cover the window. An
// interval that only touches the window's edge is in it.
void attribute_energy(const PowerTrace& power, IntervalStore& intervals,
                      const AttributionRules& rules, EnergyShares& shares);

}  // namespace aggregate_power
