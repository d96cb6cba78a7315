// Brings the sources of one GPU's energy together.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/record_facts.h"
#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

constexpr double kCounterAgreement = 0.015;
constexpr double kCounterSigmas = 4;
// Readings that are moments of a load in step with them may be off by far more than they show (13 %
// on a real board): only a counter that is off by several times that is at fault.
constexpr double kMomentsDoubt = 0.04;
// Whether counters integrate all the time is not known.
constexpr double kCounterConstruction = 0.0015;

// Components that vanish where the counter measures.
constexpr std::string_view kOfReadings[] = {"sampling_and_edges",   "moments_for_means",
                                            "between_readings",     "time_not_seen",
                                            "time_between_windows", "sensor_window_unknown"};

// The energies of a stretch under every sensor that is possible, and their weights.
struct Sensors {
  std::vector<SensedEnergy> energies;
  std::vector<double> weights;
};

// Models are crude, so their evidence counts, but never settles it alone. Power that moves faster
// than a mean over a long window can is evidence against that window; power that moves slowly is
// hardly evidence against a short one.
double weight_of(const SensedEnergy& one, double window_s, const SensedEnergy& best,
                 double best_window_s) {
  const double least = window_s < best_window_s ? -1.2 : -7;
  return std::exp(std::max(least, (*one.log_evidence - *best.log_evidence) / 4));
}

void weigh(std::span<const SensorModel> models, Sensors& sensors) {
  const bool all_known = std::ranges::all_of(
      sensors.energies, [](const SensedEnergy& one) { return one.log_evidence.has_value(); });
  sensors.weights.assign(models.size(), 1);
  if (all_known) {
    const auto best = std::ranges::max_element(
        sensors.energies, {}, [](const SensedEnergy& one) { return *one.log_evidence; });
    const double best_window_s = models[best - sensors.energies.begin()].window_s;
    for (std::size_t i = 0; i < models.size(); ++i) {
      sensors.weights[i] = weight_of(sensors.energies[i], models[i].window_s, *best, best_window_s);
    }
  }
  const double sum = summed(sensors.weights);
  for (double& weight : sensors.weights) weight /= sum;
}

struct StretchEnergy {
  Sensors sensors;
  double joules = 0;

  double root_mean_square(double SensedEnergy::*part) const {
    double sum = 0;
    for (std::size_t i = 0; i < sensors.energies.size(); ++i) {
      sum += sensors.weights[i] * sensors.energies[i].*part * (sensors.energies[i].*part);
    }
    return std::sqrt(sum);
  }
  // The interval holds in 95 % of all cases; the other 5 % may all be cases of one sensor.
  double of_any(double SensedEnergy::*part) const {
    constexpr double kMissed = 0.025;  // on either side
    double most = root_mean_square(part);
    for (std::size_t i = 0; i < sensors.energies.size(); ++i) {
      const double missed = kMissed / sensors.weights[i];
      if (missed >= 0.5) continue;
      const double sigmas =
          student_t_upper_quantile(missed, std::numeric_limits<double>::infinity());
      most = std::max(most, sensors.energies[i].*part * sigmas / kCoverageFactor);
    }
    return most;
  }
  double mean(double SensedEnergy::*part) const {
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
        sensor_energy({question.series, sensor, stretch, question.clock_uncertainty_s}));
  }
  weigh(question.gpu.sensors, result.sensors);
  result.joules = result.mean(&SensedEnergy::joules);
  return result;
}

void add_part(Estimate& estimate, const char* name, double joules) {
  if (joules > 0) estimate.components.push_back(component(name, joules));
}

Estimate estimate_of(const GpuEnergyQuestion& question, const StretchEnergy& stretch) {
  Estimate estimate;
  estimate.joules = stretch.joules;
  const double rate_w = stretch.root_mean_square(&SensedEnergy::rate_w);
  add_part(estimate, "sampling_and_edges", stretch.root_mean_square(&SensedEnergy::sampling_j));
  add_part(estimate, "moments_for_means", stretch.of_any(&SensedEnergy::moments_j));
  add_part(estimate, "time_not_seen", stretch.root_mean_square(&SensedEnergy::not_seen_j));
  add_part(estimate, "time_between_windows",
           stretch.root_mean_square(&SensedEnergy::between_windows_j));
  add_part(estimate, "window_known", stretch.root_mean_square(&SensedEnergy::window_known_j));
  add_part(estimate, "sensor_window_unknown", stretch.spread());
  add_part(estimate, "timing", stretch.root_mean_square(&SensedEnergy::timing_j));
  add_part(estimate, "stamp_cut", rate_w * question.stamps.place_s);
  add_part(estimate, "clock_offset", rate_w * question.shift_uncertainty_s);
  return estimate;
}

// The most that the GPU may have drawn while nobody looked.
double ceiling_w(const GpuReadings& gpu) {
  double most_w = gpu.conditions.limit_w.value_or(0);
  if (most_w == 0) most_w = most_board_w(gpu.model);
  for (const Sample& sample : gpu.samples) most_w = std::max(most_w, sample.watts);
  return most_w;
}

void add_between_readings(const GpuEnergyQuestion& question, Estimate& energy) {
  const auto sees_moments = [&](const SensorModel& sensor) {
    return sensor.may_be_moments || sensor.sees_moments(question.series.period_s());
  };
  if (question.series.period_s() <= kDefaultMaxSampleGapS ||
      !std::ranges::all_of(question.gpu.sensors, sees_moments)) {
    return;
  }
  add_part(energy, "between_readings",
           between_readings_j(question.series, question.window, ceiling_w(question.gpu)));
}

// Adds to a component in quadrature.
void widen(Estimate& estimate, const char* name, double joules) {
  const auto found = std::ranges::find(estimate.components, name, &Component::name);
  if (found == estimate.components.end()) return add_part(estimate, name, joules);
  found->joules = std::hypot(found->joules, joules);
}

// The interval holds the energy with doubtful readings and without.
void add_doubtful(const GpuEnergyQuestion& question, Estimate& energy) {
  double above_j = 0;
  for (const DoubtfulReading& one : question.doubtful) {
    if (question.window.contains(one.unix_s)) above_j += one.above_j;
  }
  if (above_j > 0) widen(energy, "between_readings", above_j / kCoverageFactor);
}

double root_of(const Estimate& estimate, bool of_readings) {
  double sum = 0;
  for (const Component& part : estimate.components) {
    const bool is_theirs = std::ranges::count(kOfReadings, part.name) > 0;
    if (is_theirs == of_readings) sum += part.joules * part.joules;
  }
  return std::sqrt(sum);
}

// The counter's energy between its steps, the readings' of what remains, and its uncertainty
// without what the readings have, too.
struct CountedEnergy {
  double joules = 0;
  double steps_j = 0;         // when its first and last step were, between readings
  double stamps_j = 0;        // when those readings were
  double construction_j = 0;  // what it is made of
  double remaining = 0;       // share of the readings' own error that is left
  double off_j = 0;           // from the readings between its steps
  bool is_witness = false;    // that the readings miss what they cannot see
};

// The mean of both, each weighed by its variance. A counter with poor stamps adds little to the
// readings of a steady load.
void mix_in(const CountedEnergy& counted, GpuEnergy& result) {
  Estimate& energy = result.energy;
  const double readings_j2 = std::pow(root_of(energy, true), 2);
  const double counter_j2 = std::pow(counted.steps_j, 2) + std::pow(counted.stamps_j, 2) +
                            std::pow(counted.construction_j, 2);
  // What the counter does not replace is in both.
  const double common = counted.remaining * counted.remaining;
  const double replaced_j2 = (1 - common) * readings_j2;
  double weight = replaced_j2 > 0 ? replaced_j2 / (replaced_j2 + counter_j2) : 0;
  if (counted.is_witness) weight = 1;
  result.counter->used = weight > 0.5;
  result.counter_j = weight * (counted.joules - energy.joules);
  energy.joules += result.counter_j;
  for (Component& part : energy.components) {
    if (std::ranges::count(kOfReadings, part.name)) {
      part.joules *= std::sqrt((1 - weight) * (1 - weight) * (1 - common) + common);
    }
  }
  widen(energy, "sampling_and_edges", weight * counted.steps_j);
  widen(energy, "stamp_cut", weight * counted.stamps_j);
  add_part(energy, "counter_construction", weight * counted.construction_j);
  // They disagree, so one of them is wrong: the interval holds both.
  if (counted.is_witness) widen(energy, "time_not_seen", counted.off_j / std::sqrt(3));
}

bool stands_still(std::span<const CounterSample> counter, Window window) {
  constexpr std::size_t kEnough = 6;
  std::size_t inside = 0;
  double first_j = 0;
  for (const CounterSample& sample : counter) {
    if (!window.contains(sample.unix_s)) continue;
    if (inside++ == 0) first_j = sample.joules;
    if (sample.joules != first_j) return false;
  }
  return inside >= kEnough;
}

// Whether there are readings below a power, and others above it.
bool has_shown(std::span<const Sample> samples, double watts) {
  const auto [lowest, highest] = std::ranges::minmax(samples, {}, &Sample::watts);
  return lowest.watts < watts && watts < highest.watts;
}

void use_counter(const GpuEnergyQuestion& question, GpuEnergy& result) {
  if (question.gpu.counter.empty()) return;
  result.counter.emplace();
  const double refresh_s = std::max(0.02, question.gpu.sensors.front().refresh_s);
  const std::optional<CounterSpan> span =
      counter_span(question.gpu.counter, question.window, refresh_s);
  if (!span) {
    if (stands_still(question.gpu.counter, question.window) && result.energy.joules > 0) {
      result.is_counter_rejected = true;
      result.counter_fault = "the counter does not move";
    }
    return;
  }
  if (span->runs_backwards) {
    result.is_counter_rejected = true;
    result.counter_fault = "the counter runs backwards";
    return;
  }
  const Window between = {span->between.start_unix_s - span->age_s / 2,
                          span->between.end_unix_s - span->age_s / 2};
  const Estimate inside = estimate_of(question, stretch_energy(question, between));
  result.counter->energy_j = span->energy_j;
  result.counter->disagreement = span->energy_j / inside.joules - 1;
  CountedEnergy counted;
  counted.joules = result.energy.joules + span->energy_j - inside.joules;
  const double mean_w = inside.joules / between.duration_s();
  counted.steps_j = mean_w * span->age_s / std::sqrt(6);  // T / sqrt(12) at either end
  counted.stamps_j = mean_w * question.stamps.span_s;
  counted.construction_j = kCounterConstruction * span->energy_j;
  // The readings' error in what remains is theirs in the window, without that in between.
  counted.remaining =
      std::sqrt(1 - std::min(1.0, between.duration_s() / question.window.duration_s()));
  counted.off_j = std::abs(span->energy_j - inside.joules);
  double doubt_j = std::hypot(inside.repeatability_j(), counted.steps_j, counted.stamps_j);
  const SensorModel& sensor = question.gpu.sensors.front();
  const bool misses_time = sensor.is_part_time() || sensor.sees_moments(question.series.period_s());
  if (misses_time) {
    counted.is_witness = counted.off_j > 3 * doubt_j;
    doubt_j = std::hypot(doubt_j, kMomentsDoubt * inside.joules);
  }
  if (counted.off_j > kCounterAgreement * inside.joules &&
      counted.off_j > kCounterSigmas * doubt_j) {
    result.is_counter_rejected = true;
    result.counter_fault = fmt::format("the counter is {:+.1f} % off the readings",
                                       100 * *result.counter->disagreement);
    // Or the readings are in step with the load.
    if (misses_time && has_shown(question.series.samples(), span->energy_j / between.duration_s()))
      widen(result.energy, "time_not_seen", counted.off_j / std::sqrt(3));
    return;
  }
  mix_in(counted, result);
}

}  // namespace

GpuEnergy gpu_energy(const GpuEnergyQuestion& question) {
  const StretchEnergy whole = stretch_energy(question, question.window);
  GpuEnergy result;
  result.energy = estimate_of(question, whole);
  add_between_readings(question, result.energy);
  add_doubtful(question, result.energy);
  result.shift_j = whole.mean(&SensedEnergy::shift_j);
  result.edges_j = whole.mean(&SensedEnergy::edges_j);
  result.assumes_load_in_window = std::ranges::any_of(
      whole.sensors.energies, [](const SensedEnergy& one) { return one.assumes_load_in_window; });
  use_counter(question, result);
  return result;
}

// ---- Finds the first and the last step.

std::optional<CounterSpan> counter_span(std::span<const CounterSample> counter, Window window,
                                        double refresh_s) {
  constexpr int kFewestSteps = 4;
  CounterSpan span;
  int steps = 0;
  double first_j = 0;
  for (std::size_t i = 1; i < counter.size(); ++i) {
    const CounterSample& sample = counter[i];
    if (!window.contains(sample.unix_s)) continue;
    const CounterSample& before = counter[i - 1];
    if (sample.joules < before.joules) span.runs_backwards = true;
    if (sample.joules == before.joules) continue;
    if (steps == 0) {
      first_j = sample.joules;
      span.between.start_unix_s = sample.unix_s;
    }
    ++steps;
    span.age_s = std::max(span.age_s, std::min(refresh_s, sample.unix_s - before.unix_s));
    span.between.end_unix_s = sample.unix_s;
    span.energy_j = sample.joules - first_j;
  }
  if (span.runs_backwards) return span;
  if (steps < kFewestSteps) return std::nullopt;
  return span;
}

}  // namespace aggregate_power
