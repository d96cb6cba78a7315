// Sums of components.
#include "energy/energy_interval.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "energy/placed_readings.h"

namespace aggregate_power {
namespace {

enum class Sharing { each, all, model, sampling };

struct Source {
  const char* name;
  bool systematic;
  Sharing sharing;
  char evaluation;
  bool is_accuracy;
};

constexpr Source kSources[] = {
    {"sensor_gain_shared", true, Sharing::model, 'B', true},
    {"sensor_gain_each", true, Sharing::each, 'B', true},
    {"sensor_offset", true, Sharing::each, 'B', true},
    {"sampling_and_edges", false, Sharing::sampling, 'A', false},
    {"moments_for_means", false, Sharing::sampling, 'A', false},
    {"time_not_seen", true, Sharing::sampling, 'B', false},
    {"time_between_windows", true, Sharing::sampling, 'B', false},
    {"window_known", true, Sharing::all, 'B', false},
    {"sensor_window_unknown", true, Sharing::all, 'B', false},
    {"counter_construction", true, Sharing::each, 'B', false},
    {"stamp_cut", true, Sharing::all, 'B', false},
    {"timing", true, Sharing::all, 'B', false},
    {"clock_offset", true, Sharing::all, 'B', false},
    {"window_place", true, Sharing::all, 'B', false},
};

const Source& source_of(const std::string& name) {
  const auto* const source =
      std::ranges::find_if(kSources, [&](const Source& one) { return name == one.name; });
  assert(source != std::end(kSources));
  return *source;
}

double root_of_squares(const Estimate& estimate, bool accuracy) {
  double sum = 0;
  for (const Component& part : estimate.components) {
    if (accuracy || !part.is_accuracy) sum += part.joules * part.joules;
  }
  return std::sqrt(sum);
}

double joules_of(const Estimate& estimate, const char* name) {
  for (const Component& part : estimate.components) {
    if (part.name == name) return part.joules;
  }
  return 0;
}

double combined_j(const Source& source, std::span<const CombinedGpu> gpus, double correlation) {
  double linear = 0;
  double squares = 0;
  std::map<std::string, double> by_model;
  for (const CombinedGpu& gpu : gpus) {
    const double joules = joules_of(*gpu.energy, source.name);
    linear += joules;
    squares += joules * joules;
    by_model[gpu.model] += joules;
  }
  double of_models = 0;
  for (const auto& [model, joules] : by_model) of_models += joules * joules;
  switch (source.sharing) {
    case Sharing::all:
      return linear;
    case Sharing::model:
      return std::sqrt(of_models);
    case Sharing::sampling:
      return std::sqrt((1 - correlation) * squares + correlation * linear * linear);
    case Sharing::each:
      break;
  }
  return std::sqrt(squares);
}

// The changes of one GPU's samples, looked up at the stamps of another's.
std::vector<double> changes_at(std::span<const Sample> stamps, std::span<const Sample> samples,
                               Window window) {
  std::vector<double> changes;
  std::size_t place = 0;
  double last_w = 0;
  bool has_last = false;
  for (const Sample& stamp : stamps) {
    if (!window.contains(stamp.unix_s)) continue;
    while (place + 1 < samples.size() && samples[place + 1].unix_s <= stamp.unix_s + 0.01) ++place;
    const double watts = samples[place].watts;
    if (has_last) changes.push_back(watts - last_w);
    last_w = watts;
    has_last = true;
  }
  return changes;
}

double correlation_of(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

Component component(const std::string& name, double joules) {
  const Source& source = source_of(name);
  const bool shared = source.sharing == Sharing::all || source.sharing == Sharing::model;
  return {name, joules, source.systematic, shared, source.evaluation, source.is_accuracy};
}

double Estimate::standard_uncertainty_j() const { return root_of_squares(*this, true); }
double Estimate::repeatability_j() const { return root_of_squares(*this, false); }
double Estimate::low_j() const {
  return std::max(0.0, joules - kCoverageFactor * standard_uncertainty_j());
}
double Estimate::high_j() const { return joules + kCoverageFactor * standard_uncertainty_j(); }
double Estimate::repeatability_low_j() const {
  return std::max(0.0, joules - kCoverageFactor * repeatability_j());
}
double Estimate::repeatability_high_j() const {
  return joules + kCoverageFactor * repeatability_j();
}

void add_accuracy(Estimate& estimate, const SensorAccuracy& accuracy, double duration_s) {
  const double turned_j = std::abs(estimate.joules - accuracy.pivot_w * duration_s);
  estimate.components.push_back(component("sensor_gain_shared", accuracy.shared_gain * turned_j));
  estimate.components.push_back(component("sensor_gain_each", accuracy.each_gain * turned_j));
  estimate.components.push_back(component("sensor_offset", accuracy.offset_w * duration_s));
}

Estimate combine(std::span<const CombinedGpu> gpus, double correlation) {
  Estimate total;
  for (const CombinedGpu& gpu : gpus) total.joules += gpu.energy->joules;
  for (const Source& source : kSources) {
    const double joules = combined_j(source, gpus, correlation);
    if (joules > 0) total.components.push_back(component(source.name, joules));
  }
  return total;
}

double change_correlation(std::span<const std::span<const Sample>> gpus, Window window) {
  // Pairs with the first few are enough for a mean.
  constexpr std::size_t kMostFirsts = 4;
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < std::min(gpus.size(), kMostFirsts); ++i) {
    const std::vector<double> own = changes_at(gpus[i], gpus[i], window);
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      sum += correlation_of(own, changes_at(gpus[i], gpus[j], window));
      ++pairs;
    }
  }
  return pairs > 0 ? std::clamp(sum / static_cast<double>(pairs), 0.0, 1.0) : 0;
}

}  // namespace aggregate_power
