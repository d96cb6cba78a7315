// Brings the sources of one GPU's energy together.
#include "energy/gpu_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "energy/counter_steps.h"
#include "energy/energy_interval.h"
#include "energy/sensor_energy.h"

namespace aggregate_power {
namespace {

constexpr double kCounterAgreement = 0.015;
constexpr double kCounterSigmas = 4;
// Whether counters integrate all the time is not known.
constexpr double kCounterConstruction = 0.0015;

// Components that vanish where the counter measures.
constexpr std::string_view kOfReadings[] = {"moments_for_means", "time_not_seen",
                                            "time_between_windows", "sensor_window_unknown"};

// The energies of a stretch under every sensor that is possible, and their weights.
struct Sensors {
  std::vector<SensorEnergy> energies;
  std::vector<double> weights;
};

// Models are crude, so their evidence counts, but never settles it alone. Power that moves faster
// than a mean over a long window can is evidence against that window; power that moves slowly is
// hardly evidence against a short one.
double weight_of(const SensorEnergy& one, double window_s, const SensorEnergy& best,
                 double best_window_s) {
  const double least = window_s < best_window_s ? -1.2 : -7;
  return std::exp(std::max(least, (*one.log_evidence - *best.log_evidence) / 4));
}

void weigh(std::span<const SensorModel> models, Sensors& sensors) {
  const bool all_known = std::ranges::all_of(
      sensors.energies, [](const SensorEnergy& one) { return one.log_evidence.has_value(); });
  sensors.weights.assign(models.size(), 1);
  if (all_known) {
    const auto best = std::ranges::max_element(
        sensors.energies, {}, [](const SensorEnergy& one) { return *one.log_evidence; });
    const double best_window_s = models[best - sensors.energies.begin()].window_s;
    for (std::size_t i = 0; i < models.size(); ++i) {
      sensors.weights[i] =
          weight_of(sensors.energies[i], models[i].window_s, *best, best_window_s);
    }
  }
  double sum = 0;
  for (const double weight : sensors.weights) sum += weight;
  for (double& weight : sensors.weights) weight /= sum;
}

struct StretchEnergy {
  Sensors sensors;
  double joules = 0;

  double root_mean_square(double SensorEnergy::*part) const {
    double sum = 0;
    for (std::size_t i = 0; i < sensors.energies.size(); ++i) {
      sum += sensors.weights[i] * sensors.energies[i].*part * (sensors.energies[i].*part);
    }
    return std::sqrt(sum);
  }
  double mean(double SensorEnergy::*part) const {
    double sum = 0;
    for (std::size_t i = 0; i < sensors.energies.size(); ++i) {
      sum += sensors.weights[i] * sensors.energies[i].*part;
    }
    return sum;
  }
  double spread() const {
    double sum = 0;
    for (std::size_t i = 0; i < sensors.energies.size(); ++i) {
      sum += sensors.weights[i] * std::pow(sensors.energies[i].joules - joules, 2);
    }
    return std::sqrt(sum);
  }
};

StretchEnergy stretch_energy(const GpuEnergyQuestion& question, Window stretch) {
  StretchEnergy result;
  for (const SensorModel& sensor : question.gpu.sensors) {
    result.sensors.energies.push_back(
        sensor_energy({question.sound.samples, sensor, stretch, question.clock_uncertainty_s}));
  }
  weigh(question.gpu.sensors, result.sensors);
  result.joules = result.mean(&SensorEnergy::joules);
  return result;
}

void add_part(Estimate& estimate, const char* name, double joules) {
  if (joules > 0) estimate.components.push_back(component(name, joules));
}

Estimate estimate_of(const GpuEnergyQuestion& question, const StretchEnergy& stretch) {
  Estimate estimate;
  estimate.joules = stretch.joules;
  const double rate_w = stretch.root_mean_square(&SensorEnergy::rate_w);
  add_part(estimate, "sampling_and_edges", stretch.root_mean_square(&SensorEnergy::sampling_j));
  add_part(estimate, "moments_for_means", stretch.root_mean_square(&SensorEnergy::moments_j));
  add_part(estimate, "time_not_seen", stretch.root_mean_square(&SensorEnergy::not_seen_j));
  add_part(estimate, "time_between_windows",
           stretch.root_mean_square(&SensorEnergy::between_windows_j));
  add_part(estimate, "window_known", stretch.root_mean_square(&SensorEnergy::window_known_j));
  add_part(estimate, "sensor_window_unknown", stretch.spread());
  add_part(estimate, "timing", stretch.root_mean_square(&SensorEnergy::timing_j));
  add_part(estimate, "stamp_cut", rate_w * question.stamp_uncertainty_s);
  add_part(estimate, "clock_offset", rate_w * question.shift_uncertainty_s);
  return estimate;
}

// The counter's energy between its steps, and the readings' of what remains.
void use_counter(const GpuEnergyQuestion& question, GpuEnergy& result) {
  if (question.gpu.counter.empty()) return;
  result.counter.emplace();
  const double refresh_s = std::max(0.02, question.gpu.sensors.front().refresh_s);
  const std::optional<CounterSpan> span =
      counter_span(question.gpu.counter, question.window, refresh_s);
  if (!span) return;
  if (span->runs_backwards) {
    result.is_counter_rejected = true;
    result.counter_fault = "the counter runs backwards";
    return;
  }
  const Window between = {span->between.start_unix_s - span->age_s / 2,
                          span->between.end_unix_s - span->age_s / 2};
  const Estimate inside = estimate_of(question, stretch_energy(question, between));
  CounterUse& use = *result.counter;
  use.energy_j = span->energy_j;
  use.disagreement = span->energy_j / inside.joules - 1;
  // Of a loop through cut stamps both ends err, away from each other.
  const double steps_s = std::hypot(span->age_s / std::sqrt(6), 2 * question.stamp_uncertainty_s);
  const double step_j = inside.joules / between.duration_s() * steps_s;
  const double doubt_j = std::hypot(inside.repeatability_j(), step_j);
  const double off_j = std::abs(span->energy_j - inside.joules);
  if (off_j > kCounterAgreement * inside.joules && off_j > kCounterSigmas * doubt_j) {
    result.is_counter_rejected = true;
    result.counter_fault =
        fmt::format("the counter is {:+.1f} % off the readings", 100 * use.disagreement);
    return;
  }
  // The readings' error in what remains is theirs in the window, without that in between.
  Estimate counted = result.energy;
  counted.joules += span->energy_j - inside.joules;
  const double share =
      std::sqrt(1 - std::min(1.0, between.duration_s() / question.window.duration_s()));
  for (Component& part : counted.components) {
    if (part.name == "sampling_and_edges") part.joules = std::hypot(part.joules * share, step_j);
    if (std::ranges::count(kOfReadings, part.name)) part.joules *= share;
  }
  add_part(counted, "counter_construction", kCounterConstruction * span->energy_j);
  // Readings of a steady load may be better than a counter whose stamps are poor.
  if (counted.repeatability_j() > result.energy.repeatability_j()) return;
  use.used = true;
  result.counter_j = counted.joules - result.energy.joules;
  result.energy = std::move(counted);
}

}  // namespace

GpuEnergy gpu_energy(const GpuEnergyQuestion& question) {
  const StretchEnergy whole = stretch_energy(question, question.window);
  GpuEnergy result;
  result.energy = estimate_of(question, whole);
  result.shift_j = whole.mean(&SensorEnergy::shift_j);
  result.edges_j = whole.mean(&SensorEnergy::edges_j);
  result.assumes_load_in_window = std::ranges::any_of(
      whole.sensors.energies, [](const SensorEnergy& one) { return one.assumes_load_in_window; });
  use_counter(question, result);
  return result;
}

}  // namespace aggregate_power
