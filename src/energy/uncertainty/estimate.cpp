// Puts readings in their place in time, estimates each GPU, adds them up and judges the load.
#include "energy/uncertainty/estimate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/system/parallel.h"
#include "core/model/code_descriptions.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/readings.h"
#include "energy/uncertainty/uncertainty.h"
#include "energy/uncertainty/verdicts.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kFewestReadings = 3;
constexpr double kLeastShiftUncertainty_s = 0.15;

// What is to be said of one GPU alone: its energy, and what its readings show of sensor and load.
struct GpuFinding {
  GpuEnergy energy;
  double stale_share = 0;
  std::optional<double> refresh_observed_s;
  bool is_under_sampled = false;
  bool is_power_capped = false;
  std::optional<std::string> throttling;
  std::optional<std::string> drift = {};  // thermal_drift()
};

GpuFinding gpu_finding(const GpuEnergyQuestion& question);

struct Placed {
  std::vector<GpuReadings> gpus;
  std::vector<SoundReadings> sound;
  std::vector<ReadingSeries> series;  // of the sound readings
  std::vector<double> periods_s;      // the median time between two readings, sound or not
  StampUncertainty cut;               // of the stamps that are cut
  Window window;
  double shift_s = 0;
  double shift_uncertainty_s = 0;
  bool is_by_power = false;  // the window is where the readings are, not where the load is
};

void add_verdict(EnergyEstimate& estimate, const std::string& code, std::size_t gpu,
                 const std::string& detail = {}) {
  GpuEstimate& own = estimate.gpus[gpu];
  own.verdicts.push_back(code);
  const auto found = std::ranges::find(estimate.verdicts, code, &Verdict::code);
  if (found != estimate.verdicts.end()) {
    found->gpus.push_back(own.name);
  } else {
    estimate.verdicts.push_back({verdict_word(code), {own.name}, detail});
  }
}

bool is_cut(const GpuReadings& gpu) { return gpu.stamps == Stamps::whole_seconds; }

using AllCrossings = std::vector<std::optional<LoadCrossings>>;  // of each GPU

const SensorModel& sensor_of(const GpuReadings& gpu, std::size_t sensor) {
  return gpu.sensors[std::min(sensor, gpu.sensors.size() - 1)];
}

// How long a load may have begun before any reading shows it, under one of the sensors that are
// possible.
double unseen_edge_s(const Placed& placed, std::size_t sensor) {
  double unseen_s = 0;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const SensorModel& model = sensor_of(placed.gpus[i], sensor);
    unseen_s = std::max(unseen_s, placed.periods_s[i] + model.refresh_s - model.window_s);
  }
  return unseen_s;
}

// What the window must be moved by under one of the sensors that are possible; 0: nothing.
double shift_under(const Placed& placed, const AllCrossings& crossings, std::size_t sensor) {
  std::vector<LoadSpan> spans;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const SensorModel& model = sensor_of(placed.gpus[i], sensor);
    const auto span = crossings[i]
                          ? load_span(placed.sound[i].samples, *crossings[i], model, placed.window)
                          : std::nullopt;
    if (span) spans.push_back(*span);
  }
  if (2 * spans.size() <= placed.gpus.size()) return 0;
  return clock_shift_s(spans, placed.window).value_or(0);
}

// The smallest, and nothing unless every sensor demands it: a sensor's own delay looks like a clock
// that is off.
double shift_of(const Placed& placed, const AllCrossings& crossings) {
  std::size_t most = 1;
  for (const GpuReadings& gpu : placed.gpus) most = std::max(most, gpu.sensors.size());
  double shift_s = shift_under(placed, crossings, 0);
  for (std::size_t sensor = 1; sensor < most; ++sensor) {
    const double other_s = shift_under(placed, crossings, sensor);
    if (other_s * shift_s <= 0) return 0;
    if (std::abs(other_s) < std::abs(shift_s)) shift_s = other_s;
  }
  return shift_s;
}

// How much older than their stamps readings are, in the mean of all GPUs and of the sensors that
// are possible.
double age_of(const Placed& placed) {
  double sum_s = 0;
  double count = 0;
  for (const GpuReadings& gpu : placed.gpus) {
    for (const SensorModel& model : gpu.sensors) {
      sum_s += model.delay_s + (model.refresh_s + model.window_s) / 2;
      ++count;
    }
  }
  return count > 0 ? sum_s / count : 0;
}

// Of each GPU whose stamps are cut.
std::vector<std::shared_ptr<const UncutStamps>> uncut_stamps(const EstimateQuestion& question) {
  std::vector<std::shared_ptr<const UncutStamps>> all;
  std::shared_ptr<const UncutStamps> last;
  for (const GpuReadings& gpu : question.gpus) {
    if (is_cut(gpu) && !(last && last->is_same_of(gpu.samples))) {
      last =
          std::make_shared<const UncutStamps>(gpu.samples, question.window, question.most_threads);
    }
    all.push_back(is_cut(gpu) ? last : nullptr);
  }
  return all;
}

// Moves the readings.
Placed place(EstimateQuestion& question) {
  Placed placed;
  const auto uncut = uncut_stamps(question);
  placed.gpus = std::move(question.gpus);
  placed.window = question.window;
  for (const auto& stamps : uncut) {
    if (!stamps) continue;
    placed.cut.place_s = std::max(placed.cut.place_s, stamps->uncertainty().place_s);
    placed.cut.span_s = std::max(placed.cut.span_s, stamps->uncertainty().span_s);
  }
  const bool are_cut = placed.cut.place_s > 0;
  placed.sound.resize(placed.gpus.size());
  placed.series.resize(placed.gpus.size());
  placed.periods_s.resize(placed.gpus.size());
  AllCrossings crossings(placed.gpus.size());
  in_parallel(placed.gpus.size(), question.most_threads, [&](std::size_t i) {
    GpuReadings& gpu = placed.gpus[i];
    if (uncut[i]) uncut[i]->place(gpu);
    placed.sound[i] = sound_readings(gpu.samples, gpu.conditions.limit_w, gpu.model);
    placed.series[i] = ReadingSeries(placed.sound[i].samples);
    const bool are_all_sound = placed.sound[i].samples.size() == gpu.samples.size();
    placed.periods_s[i] =
        are_all_sound ? placed.series[i].period_s() : median_period_s(gpu.samples);
    if (!are_cut) crossings[i] = load_crossings(placed.sound[i].samples, question.window);
  });
  placed.is_by_power = question.is_placed_by_power;
  if (placed.is_by_power) {
    placed.shift_s = -age_of(placed);
  } else if (!are_cut) {
    placed.shift_s = shift_of(placed, crossings);
  }
  if (placed.shift_s != 0 && !placed.is_by_power) {
    placed.shift_uncertainty_s =
        std::max(kLeastShiftUncertainty_s, unseen_edge_s(placed, 0) / std::sqrt(12));
  }
  placed.window.start_unix_s += placed.shift_s;
  placed.window.end_unix_s += placed.shift_s;
  return placed;
}

// Gives the readings' memory back with several threads: for many readings that takes long.
void release(Placed& placed, std::size_t most_threads) {
  in_parallel(placed.gpus.size(), most_threads, [&](std::size_t i) {
    placed.series[i] = {};
    placed.sound[i] = {};
    placed.gpus[i] = {};
  });
}

// One value throughout, for longer than idle GPUs show one, and no counter that says that it is
// drawn. A value without fractions is that of a recording that somebody made.
bool is_frozen(const GpuReadings& gpu, Window window) {
  constexpr double kLongest_s = 10;
  if (median_period_s(gpu.samples) > kDefaultMaxSampleGapS) return false;  // nobody looked for long
  const std::span<const Sample> inside = samples_in(gpu.samples, window);
  if (inside.size() < 6 || inside.back().unix_s - inside.front().unix_s < kLongest_s) return false;
  const double watts = inside.front().watts;
  if (watts == std::round(watts) || !gpu.counter.empty()) return false;
  return std::ranges::all_of(inside, [&](const Sample& sample) { return sample.watts == watts; });
}

// Why there is no honest interval; empty: there is one.
std::string refusal(const Placed& placed) {
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const double stuck_s = summed(placed.sound[i].stuck, [&](const Window& stuck) {
      return std::max(0.0, std::min(stuck.end_unix_s, placed.window.end_unix_s) -
                               std::max(stuck.start_unix_s, placed.window.start_unix_s));
    });
    if (stuck_s > 0.9 * placed.window.duration_s() || is_frozen(placed.gpus[i], placed.window)) {
      return no_interval("stuck_all_window");
    }
    if (samples_in(placed.sound[i].samples, placed.window).size() < kFewestReadings)
      return no_interval("too_few_readings");
  }
  return {};
}

void judge_gpu(const Placed& placed, std::size_t i, const GpuFinding& finding,
               EnergyEstimate& estimate) {
  const GpuReadings& gpu = placed.gpus[i];
  const SoundReadings& sound = placed.sound[i];
  const SensorModel& sensor = gpu.sensors.front();
  const GpuEnergy& energy = finding.energy;
  if (gpu.sensors.size() > 1) {
    add_verdict(estimate, "sensor_unknown", i, "the readings may be means over several windows");
  } else {
    if (sensor.is_averaged()) {
      add_verdict(estimate, "averaged_sensor", i,
                  fmt::format("a reading is a mean over {} s", sensor.window_s));
    }
    if (sensor.is_part_time()) {
      add_verdict(
          estimate, "part_time_sensor", i,
          fmt::format("the sensor looks at {} ms of every {} ms",
                      std::round(1000 * sensor.window_s), std::round(1000 * sensor.refresh_s)));
    }
    if (!(energy.counter && energy.counter->used) && finding.is_under_sampled) {
      add_verdict(estimate, "under_sampled_window", i, "readings are moments of a varying power");
    }
  }
  if (!sound.stuck.empty()) add_verdict(estimate, "stuck_sensor", i, "one value under load");
  if (sound.implausible > 0) {
    add_verdict(estimate, "implausible_readings", i, "zeros or spikes were left out");
  }
  if (energy.is_counter_rejected) {
    add_verdict(estimate, "counter_rejected", i, energy.counter_fault);
  }
  if (finding.is_power_capped) {
    add_verdict(estimate, "power_capped", i, "at least half of the window above 94 % of the limit");
  }
  if (finding.throttling) add_verdict(estimate, *finding.throttling, i);
  if (finding.drift) add_verdict(estimate, "thermal_drift", i, *finding.drift);
  if (placed.window.duration_s() < 10 * std::max(placed.periods_s[i], sensor.window_s)) {
    add_verdict(estimate, "window_too_short", i, "shorter than ten readings");
  }
}

// GPUs that another one's load left alone.
void judge_idle(const Placed& placed, EnergyEstimate& estimate) {
  constexpr double kIdleShare = 0.4;
  constexpr double kIdleVariation = 0.05;
  double busiest_j = 0;
  for (const GpuEstimate& gpu : estimate.gpus) busiest_j = std::max(busiest_j, gpu.energy.joules);
  for (std::size_t i = 0; i < estimate.gpus.size(); ++i) {
    if (estimate.gpus[i].energy.joules < kIdleShare * busiest_j &&
        variation(placed.sound[i].samples, placed.window) < kIdleVariation) {
      add_verdict(estimate, "idle_gpu", i, "it draws little and hardly varies");
    }
  }
}

// Whether published numbers are outside of an interval: that of the sum, and of which GPUs.
void judge_published(EnergyEstimate& estimate, const std::string& code,
                     double (Estimate::*low_j)() const, double (Estimate::*high_j)() const) {
  const auto is_outside = [&](double published_j, const Estimate& energy) {
    return published_j < (energy.*low_j)() || published_j > (energy.*high_j)();
  };
  const bool is_sum = is_outside(estimate.published_j, estimate.total);
  for (std::size_t i = 0; i < estimate.gpus.size(); ++i) {
    const GpuEstimate& gpu = estimate.gpus[i];
    if (!is_outside(gpu.published_j, gpu.energy)) continue;
    add_verdict(estimate, code, i, is_sum ? "" : "of these GPUs, not of their sum");
  }
  if (!is_sum || std::ranges::count(estimate.verdicts, code, &Verdict::code) > 0) return;
  Verdict of_sum = {code, {}, "of their sum"};
  for (const GpuEstimate& gpu : estimate.gpus) of_sum.gpus.push_back(gpu.name);
  estimate.verdicts.push_back(std::move(of_sum));
}

void judge_total(const Placed& placed, EnergyEstimate& estimate) {
  std::vector<PowerLine> lines;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    lines.push_back(placed.series[i].line());
    names.push_back(placed.gpus[i].name);
  }
  Verdict steady = steadiness(lines, placed.window);
  steady.gpus = names;
  estimate.verdicts.push_back(std::move(steady));
  if (placed.shift_s != 0 && !placed.is_by_power) {
    estimate.verdicts.push_back(
        {verdict_word("clock_offset_suspected"), names,
         fmt::format("the load is {:+.2f} s from the window", placed.shift_s)});
  }
  judge_published(estimate, "published_outside_interval", &Estimate::low_j, &Estimate::high_j);
  judge_published(estimate, "published_biased", &Estimate::repeatability_low_j,
                  &Estimate::repeatability_high_j);
  if (std::ranges::any_of(placed.gpus, is_cut)) {
    estimate.assumptions.push_back(assumption("regular_recorder_loop"));
  }
}

void add_correction(EnergyEstimate& estimate, const char* name, double joules) {
  // Below that it is a rounding error of sums.
  if (std::abs(joules) > 1e-9 * estimate.total.joules)
    estimate.corrections.push_back({name, joules});
}

// A window whose place is an estimate.
void add_place(const EstimateQuestion& question, std::span<const Sample> samples,
               Estimate& estimate) {
  constexpr int kPlaces = 20;  // on each side
  const double half_s = question.place_half_width_s;
  if (half_s <= 0) return;
  double most_j = 0;
  for (int place = -kPlaces; place <= kPlaces; ++place) {
    const double by_s = half_s * place / kPlaces;
    most_j = std::max(most_j, std::abs(later_energy_change_j(samples, question.window, by_s)));
  }
  if (question.place_most_share) {
    most_j = std::min(most_j, *question.place_most_share * estimate.joules);
  }
  if (most_j > 0) estimate.components.push_back(component("window_place", most_j / std::sqrt(3)));
}

struct AllFindings {
  std::vector<GpuFinding> gpus;
  double correlation = 0;  // of their changes
};

GpuEnergyQuestion question_of(const EstimateQuestion& question, const Placed& placed,
                              std::size_t i) {
  const bool is_shifted = placed.shift_s != 0;
  const GpuReadings& gpu = placed.gpus[i];
  return {gpu,
          placed.series[i],
          placed.window,
          is_shifted ? 0 : question.clock_uncertainty_s,
          is_cut(gpu) ? placed.cut : StampUncertainty(),
          placed.shift_uncertainty_s,
          placed.sound[i].doubtful};
}

AllFindings findings_of(const EstimateQuestion& question, const Placed& placed) {
  AllFindings found;
  found.gpus.resize(placed.gpus.size());
  // The correlation is the first piece of work, the GPUs are the others.
  in_parallel(1 + found.gpus.size(), question.most_threads, [&](std::size_t i) {
    if (i > 0) {
      found.gpus[i - 1] = gpu_finding(question_of(question, placed, i - 1));
      return;
    }
    std::vector<std::span<const Sample>> samples;
    for (const SoundReadings& sound : placed.sound) samples.push_back(sound.samples);
    found.correlation = change_correlation(samples, placed.window);
  });
  return found;
}

void add_up(const EstimateQuestion& question, const Placed& placed, const AllFindings& found,
            EnergyEstimate& estimate) {
  std::vector<CombinedGpu> gpus;
  double shift_j = 0;
  double edges_j = 0;
  double counter_j = 0;
  double clock_j = 0;
  bool assumes_load_in_window = false;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    const GpuEnergy& energy = found.gpus[i].energy;
    gpus.push_back({&estimate.gpus[i].energy, placed.gpus[i].model});
    shift_j += energy.shift_j;
    edges_j += energy.edges_j;
    counter_j += energy.counter_j;
    if (placed.shift_s != 0) {
      clock_j += later_energy_change_j(placed.gpus[i].samples, question.window, placed.shift_s);
    }
    assumes_load_in_window |= energy.assumes_load_in_window;
  }
  estimate.total = combine(gpus, found.correlation);
  add_correction(estimate, "half_window_shift", shift_j);
  add_correction(estimate, "edges_deconvolved", edges_j);
  add_correction(estimate, "counter", counter_j);
  if (placed.shift_s != 0) add_correction(estimate, "window_moved_to_load", clock_j);
  // What remains is due to readings that were left out and stamps that were cut.
  add_correction(
      estimate, "readings_cleaned",
      estimate.total.joules - estimate.published_j - shift_j - edges_j - counter_j - clock_j);
  estimate.assumptions = {assumption("one_clock"), assumption("gain_prior_of_19_boards")};
  if (assumes_load_in_window) estimate.assumptions.push_back(assumption("load_starts_in_window"));
}

}  // namespace

EnergyEstimate estimate_energy(EstimateQuestion question) {
  EnergyEstimate estimate;
  for (GpuReadings& gpu : question.gpus) {
    if (gpu.sensors.empty()) {
      estimate.reasons = {no_interval("sensor_scope_unknown")};
      return estimate;
    }
    if (!gpu.published_j) gpu.published_j = line_energy_j(gpu.samples, question.window);
  }
  Placed placed = place(question);
  if (const std::string reason = refusal(placed); !reason.empty()) {
    estimate.reasons.push_back(reason);
    return estimate;
  }
  bool all_moments = true;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    all_moments &= placed.gpus[i].sensors.front().sees_moments(placed.periods_s[i]);
  }
  estimate.method = all_moments ? "lines_between_moments" : "random_walk_posterior";
  const AllFindings found = findings_of(question, placed);
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const GpuReadings& gpu = placed.gpus[i];
    GpuEstimate own;
    own.name = gpu.name;
    own.published_j = *gpu.published_j;
    own.energy = found.gpus[i].energy.energy;
    own.counter = found.gpus[i].energy.counter;
    own.stale_share = found.gpus[i].stale_share;
    own.refresh_observed_s = found.gpus[i].refresh_observed_s;
    for (const SensorModel& sensor : gpu.sensors) own.windows_s.push_back(sensor.window_s);
    add_place(question, placed.gpus[i].samples, own.energy);
    add_accuracy(own.energy, gpu.accuracy.value_or(question.accuracy), placed.window.duration_s());
    estimate.published_j += own.published_j;
    estimate.gpus.push_back(std::move(own));
    judge_gpu(placed, i, found.gpus[i], estimate);
  }
  add_up(question, placed, found, estimate);
  judge_idle(placed, estimate);
  judge_total(placed, estimate);
  release(placed, question.most_threads);
  return estimate;
}

// ---- Asks each rule about a GPU.

namespace {

void observe_refresh(std::span<const Sample> samples, Window window, GpuFinding& finding) {
  const std::span<const Sample> inside = samples_in(samples, window);
  if (inside.empty()) return;
  const auto begin = static_cast<std::size_t>(inside.data() - samples.data());
  const std::size_t first = std::max<std::size_t>(begin, 1);
  const std::size_t end = begin + inside.size();
  const auto is_stale = [&](std::size_t i) { return samples[i].watts == samples[i - 1].watts; };
  std::size_t stale = 0;
  for (std::size_t i = first; i < end; ++i) stale += static_cast<std::size_t>(is_stale(i));
  if (first == end) return;
  finding.stale_share = static_cast<double>(stale) / static_cast<double>(end - first);
  // Only a recorder that asks faster sees how often the sensor refreshes.
  if (finding.stale_share <= 0.2 || end - first - stale <= 2) return;
  std::vector<Sample> changes;
  for (std::size_t i = first; i < end; ++i) {
    if (!is_stale(i)) changes.push_back(samples[i]);
  }
  finding.refresh_observed_s = median_period_s(changes);
}

GpuFinding gpu_finding(const GpuEnergyQuestion& question) {
  const GpuReadings& gpu = question.gpu;
  const ReadingSeries& series = question.series;
  GpuFinding finding;
  finding.energy = gpu_energy(question);
  observe_refresh(gpu.samples, question.window, finding);
  finding.is_under_sampled =
      gpu.sensors.size() == 1 && is_under_sampled(series, gpu.sensors.front(), question.window);
  finding.is_power_capped = is_power_capped(series.samples(), gpu.conditions, question.window);
  finding.throttling = throttling(series.line(), gpu.conditions, question.window);
  finding.drift = thermal_drift(series.line(), gpu.conditions, question.window);
  return finding;
}

}  // namespace
}  // namespace aggregate_power
