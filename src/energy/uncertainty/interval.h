// The interval of an energy from its sources of error, of one GPU and of several. Pure arithmetic;
// JCGM 100 ("GUM"), clause 5.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/code_descriptions.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

// The names of all components, in the order of the record.
std::span<const ExplainedWord> component_words();

// The component of a known name: its kind is that of the source. Names are those of the audit
// record.
Component component(const std::string& name, double joules);

// Adds the components of the sensor's accuracy to an energy of one GPU that was read over
// `duration_s`.
void add_accuracy(Estimate& estimate, const SensorAccuracy& accuracy, double duration_s);

struct CombinedGpu {
  const Estimate* energy = nullptr;
  std::string model;
};

// The sum of GPUs. Shared components add linearly (the gain's among the GPUs of a model), others in
// quadrature. `correlation` is that of the GPUs' sampling errors, from 0 to 1.
Estimate combine(std::span<const CombinedGpu> gpus, double correlation);

// ---- How wide the interval of an energy will be, before it is measured: the interval of the load
// that was seen, for a window of another length. Pure arithmetic.

struct ExpectedInterval {
  std::string refusal;                // why there is none; empty: there is one
  std::vector<Component> components;  // relative to an energy of 1 J

  double half_width() const;  // 95 %
};

// `seen` is a recording of the load, which fills its window. What a run leaves open at random is
// less by the root of how much longer it is, what is open at its edges by how much longer, and what
// is wrong with a sensor stays.
ExpectedInterval expected_interval(EstimateQuestion seen, double window_s);

// The same load with a counter that counts what the lines between its readings do.
EstimateQuestion with_counter(EstimateQuestion seen);

// What a window of a load is worth between runs on the same boards. Shares are relative.
struct WindowWorth {
  std::string refusal;  // why nothing can be said; empty: it can
  double stated = 0;    // standard uncertainty, as runs state it
  double noise = 0;     // the part of it that differs from run to run
};
WindowWorth worth_of_window(EstimateQuestion seen, double window_s);

// Standard deviation of repeats, where nothing says how far they differ. Public repeats of one
// configuration differ by 0.1 to 0.75 %.
inline constexpr double kAssumedSpread = 0.005;

// How many repeats of such windows have a mean whose interval of 95 % has this half width: t(n - 1)
// times the root of the squares of spread and noise, or what runs state, over the root of n.
// Returns nullopt for more than 1000.
std::optional<std::size_t> repeats_for_half_width(const WindowWorth& worth, double spread,
                                                  double half_width);

// The part of a stretch of load in which all that a sensor averages over is load, too; the whole
// stretch if it is too short for that.
Window inside_of_load(Window stretch, const GpuReadings& gpu);

// ---- Student's t distribution. Pure arithmetic.

// The probability of a value of at most `t`. `degrees_of_freedom` is above 0, need not be whole,
// and may be infinite: then the distribution is the normal one.
double student_t_probability(double t, double degrees_of_freedom);

// The value that is not exceeded with `probability`, which is inside (0, 1).
double student_t_quantile(double probability, double degrees_of_freedom);

// The value that is exceeded with probability `tail`, which is above 0 and at most 0.5: one minus a
// tail of 1e-17 is 1.
double student_t_upper_quantile(double tail, double degrees_of_freedom);

// ---- The binomial distribution. Pure arithmetic.

// The share of a population that is exceeded with probability `tail` at most, if `found` of `draws`
// have what is asked for: the exact upper limit of Clopper and Pearson (1934).
double binomial_upper_limit(std::size_t found, std::size_t draws, double tail);

}  // namespace aggregate_power
