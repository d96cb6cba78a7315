// The interval of an energy from its sources of error, of one GPU and of several. Pure arithmetic;
// JCGM 100 ("GUM"), clause 5.
#pragma once

#include <cstddef>
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

// The part of a stretch of load in which all that a sensor averages over is load, too; the whole
// stretch if it is too short for that.
Window inside_of_load(Window stretch, const GpuReadings& gpu);

// ---- Student's t distribution. Pure arithmetic.

// The probability of a value of at most `t`. `degrees_of_freedom` is above 0, need not be whole,
// and may be infinite: then the distribution is the normal one.
double student_t_probability(double t, double degrees_of_freedom);

// The value that is not exceeded with `probability`, which is inside (0, 1).
double student_t_quantile(double probability, double degrees_of_freedom);

// ---- The binomial distribution. Pure arithmetic.

// The share of a population that is exceeded with probability `tail` at most, if `found` of `draws`
// have what is asked for: the exact upper limit of Clopper and Pearson (1934).
double binomial_upper_limit(std::size_t found, std::size_t draws, double tail);

}  // namespace aggregate_power
