// The energy counter of one device over a recording, for the energy of any stretch of it. Pure
// arithmetic: no files, no clock, no printing.
//
// A counter goes up in steps: every 100 ms on an H100, at each reading of a recorder that is
// slower. Between two steps the energy is on the straight line between them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/curve.h"

namespace aggregate_power {

// How far a counter and the power may be apart.
inline constexpr double kCounterTolerance = 0.05;

// Whether they contradict each other: by more than that, and by more than the counter's steps.
bool contradict(double counter_j, double power_j, double resolution_j);

// How far apart the two may be in a result that is published (contract.md part 0 row 30).
inline constexpr double kCounterLimit = 0.16;

// Whether one of them must be wrong: they are apart by more than that, by more than the counter's
// steps, and by more than what a sensor's average of a second and coarse stamps do at the window's
// edges. False if no GPU draws the counter's mean and one may draw the power's: then the counter is
// wrong.
bool refutes(double counter_j, double power_j, double resolution_j, double duration_s);

// Why a counter that is off by a factor of two or more is not to be believed, for people; empty: it
// is not so far off. Counters whose unit is not what it should be are known.
std::string why_unbelievable(double counter_j, double power_j, double resolution_j);

// The unit of a counter that does not state one.
struct CounterUnit {
  std::string_view symbol;
  double joules = 1;
};
// The one by which its `counts` are about the energy that the power has over the same time, within
// a factor of 3: the units of counters are further apart. Returns nullopt if there is none.
std::optional<CounterUnit> unit_by_values(double counts, double power_j);

// How far the counts rise inside the window, without falls.
double rise_in(std::span<const CounterSample> samples, Window window);

// The mean power between each two readings, at the later one: to compare counters as sensors are
// compared. `samples` in any order; there is none where the counter falls.
std::vector<Sample> mean_powers(std::vector<CounterSample> samples);

class CounterTrace {
 public:
  // A window with fewer steps of the counter is not resolved by it.
  static constexpr std::size_t kFewestSteps = 10;

  // `samples` in any order; of those with one stamp the highest counts, since the instances of a
  // divided GPU repeat its counter. `unit_j` is the energy of one count: a register of 32 bits
  // begins again after 2^32 of them. `power` is that of the same device, null if it is unknown: a
  // counter may stand still only where little power is drawn. It is not kept.
  CounterTrace(std::vector<CounterSample> samples, double unit_j, const PowerTrace* power);

  // Why the counter is never used, for people; empty: it may be.
  const std::string& fault() const { return fault_; }
  // Why the window is not measured by it, for people; empty: it is. `max_sample_gap_s` is the
  // longest time between the readings around an edge of the window; between others it may be
  // longer, because a counter misses nothing. Time grows with the logarithm of the samples.
  std::string fault(Window window, double max_sample_gap_s) const;
  // The energy inside the window, in joules, if it is between the first and the last step.
  double energy_j(Window window) const;
  // By how much the steps in which the window's edges are may put that off.
  double resolution_j(Window window) const;
  // The number of readings inside the window.
  std::size_t readings(Window window) const;

 private:
  // A stretch in which the counter says nothing.
  struct Hole {
    Window between;
    std::string why;
  };

  void unwrap(double unit_j, std::size_t falls);
  void find_steps(std::size_t changes);
  void find_faults(double highest_rise_j, const PowerTrace* power);
  // Since the first sample: smaller numbers are rounded less.
  double risen_j(const CounterSample& sample) const { return sample.joules - first_j_; }
  const std::vector<CounterSample>& steps() const { return steps_.empty() ? samples_ : steps_; }
  double energy_until(double unix_s) const;
  double step_at(double unix_s) const;
  std::string edge_fault(double unix_s, double max_sample_gap_s) const;

  std::vector<CounterSample> samples_;  // sorted, without equal stamps, not falling
  // The first sample, each with another energy, and each at the end of a hole; empty: all are.
  std::vector<CounterSample> steps_;
  std::vector<Hole> holes_;  // in order of time
  std::string fault_;
  double first_j_ = 0;
  double usual_step_j_ = 0;
};

}  // namespace aggregate_power
