// The interval of an energy from its sources of error, of one GPU and of several. Pure arithmetic;
// JCGM 100 ("GUM"), clause 5.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/explained_word.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/sensor_model.h"

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

}  // namespace aggregate_power
