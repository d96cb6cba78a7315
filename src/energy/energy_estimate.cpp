// Puts readings in their place in time, estimates each GPU, adds them up and judges the load.
#include "energy/energy_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aggregate_power/assumption.h"
#include "aggregate_power/refusal.h"
#include "base/parallel.h"
#include "energy/clock_shift.h"
#include "energy/energy_interval.h"
#include "energy/gpu_energy.h"
#include "energy/load_verdicts.h"
#include "energy/placed_readings.h"
#include "energy/reading_faults.h"
#include "energy/sensor_energy.h"
#include "energy/whole_second_stamps.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kFewestReadings = 3;
constexpr double kShiftUncertainty_s = 0.15;

// Where whole-second stamps cannot be fitted to a loop: half a second late, give or take.
constexpr double kCutMiddle_s = 0.5;
constexpr double kCutUncertainty_s = 0.29;

struct Placed {
  std::vector<GpuReadings> gpus;
  std::vector<SoundReadings> sound;
  StampUncertainty cut;  // of the stamps that are cut
  Window window;
  double shift_s = 0;
};

// The instants of asking behind stamps that are cut to whole seconds. A recorder asks all GPUs in
// one round, so most have the same stamps.
class UncutStamps {
 public:
  explicit UncutStamps(Window window) : window_(window) {}

  StampUncertainty place(GpuReadings& gpu) {
    if (!std::ranges::equal(gpu.samples, stamps_, {}, &Sample::unix_s)) {
      stamps_.clear();
      for (const Sample& sample : gpu.samples) stamps_.push_back(sample.unix_s);
      auto loop = regular_loop_near(stamps_, window_.start_unix_s, window_.end_unix_s);
      has_loop_ = loop.has_value();
      if (loop) loop_ = std::move(*loop);
    }
    place_all(gpu.counter);
    place_all(gpu.samples);
    if (has_loop_) return {loop_.uncertainty_s, loop_.span_uncertainty_s};
    return {kCutUncertainty_s, std::sqrt(2.0) * kCutUncertainty_s};
  }

 private:
  // Of samples in time order.
  void place_all(auto& samples) const {
    std::size_t i = 0;
    for (auto& sample : samples) {
      while (i < stamps_.size() && stamps_[i] < sample.unix_s) ++i;
      const bool is_of_loop = has_loop_ && i < stamps_.size() && stamps_[i] == sample.unix_s;
      sample.unix_s = is_of_loop ? loop_.unix_s[i] : sample.unix_s + kCutMiddle_s;
    }
  }

  Window window_;
  std::vector<double> stamps_;
  RegularLoop loop_;
  bool has_loop_ = false;
};

void add_verdict(EnergyEstimate& estimate, const std::string& code, std::size_t gpu,
                 const std::string& detail = {}) {
  GpuEstimate& own = estimate.gpus[gpu];
  own.verdicts.push_back(code);
  const auto found = std::ranges::find(estimate.verdicts, code, &Verdict::code);
  if (found != estimate.verdicts.end()) {
    found->gpus.push_back(own.name);
  } else {
    estimate.verdicts.push_back({code, {own.name}, detail});
  }
}

bool is_cut(const GpuReadings& gpu) { return gpu.stamps == Stamps::whole_seconds; }

// What the window must be moved by under one of the sensors that are possible; 0: nothing.
double shift_under(const Placed& placed, std::size_t sensor) {
  std::vector<LoadSpan> spans;
  double unseen_s = 0;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const std::vector<SensorModel>& sensors = placed.gpus[i].sensors;
    const SensorModel& model = sensors[std::min(sensor, sensors.size() - 1)];
    const auto span = load_span(placed.sound[i].samples, model, placed.window);
    if (span) spans.push_back(*span);
    unseen_s = std::max(unseen_s, median_period_s(placed.gpus[i].samples) - model.window_s);
  }
  if (2 * spans.size() <= placed.gpus.size()) return 0;
  // Between two moments nobody sees when the load began.
  const double shift_s = clock_shift_s(spans, placed.window).value_or(0);
  return std::abs(shift_s) > unseen_s / 2 ? shift_s : 0;
}

// The smallest, and nothing unless every sensor demands it: a sensor's own delay looks like a clock
// that is off.
double shift_of(const Placed& placed) {
  std::size_t most = 1;
  for (const GpuReadings& gpu : placed.gpus) most = std::max(most, gpu.sensors.size());
  double shift_s = shift_under(placed, 0);
  for (std::size_t sensor = 1; sensor < most; ++sensor) {
    const double other_s = shift_under(placed, sensor);
    if (other_s * shift_s <= 0) return 0;
    if (std::abs(other_s) < std::abs(shift_s)) shift_s = other_s;
  }
  return shift_s;
}

// Moves the readings.
Placed place(EstimateQuestion& question) {
  Placed placed;
  placed.gpus = std::move(question.gpus);
  placed.window = question.window;
  UncutStamps uncut(question.window);
  for (GpuReadings& gpu : placed.gpus) {
    if (is_cut(gpu)) {
      const StampUncertainty stamps = uncut.place(gpu);
      placed.cut.place_s = std::max(placed.cut.place_s, stamps.place_s);
      placed.cut.span_s = std::max(placed.cut.span_s, stamps.span_s);
    }
  }
  placed.sound.resize(placed.gpus.size());
  in_parallel(placed.gpus.size(), question.most_threads, [&](std::size_t i) {
    placed.sound[i] = sound_readings(placed.gpus[i].samples, placed.gpus[i].conditions.limit_w);
  });
  if (placed.cut.place_s == 0) placed.shift_s = shift_of(placed);
  placed.window.start_unix_s += placed.shift_s;
  placed.window.end_unix_s += placed.shift_s;
  return placed;
}

// One value throughout, for longer than idle GPUs show one, and no counter that says that it is
// drawn. A value without fractions is that of a recording that somebody made.
bool is_frozen(const GpuReadings& gpu, Window window) {
  constexpr double kLongest_s = 10;
  const std::span<const Sample> inside = samples_in(gpu.samples, window);
  if (inside.size() < 6 || inside.back().unix_s - inside.front().unix_s < kLongest_s) return false;
  const double watts = inside.front().watts;
  if (watts == std::round(watts) || !gpu.counter.empty()) return false;
  return std::ranges::all_of(inside, [&](const Sample& sample) { return sample.watts == watts; });
}

// Why there is no honest interval; empty: there is one.
std::string refusal(const Placed& placed) {
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    double stuck_s = 0;
    for (const Window& stuck : placed.sound[i].stuck) {
      stuck_s += std::max(0.0, std::min(stuck.end_unix_s, placed.window.end_unix_s) -
                                   std::max(stuck.start_unix_s, placed.window.start_unix_s));
    }
    if (stuck_s > 0.9 * placed.window.duration_s() || is_frozen(placed.gpus[i], placed.window)) {
      return no_interval("stuck_all_window");
    }
    if (samples_in(placed.sound[i].samples, placed.window).size() < kFewestReadings)
      return no_interval("too_few_readings");
  }
  return {};
}

void observe_refresh(const GpuReadings& gpu, Window window, GpuEstimate& estimate) {
  std::size_t inside = 0;
  std::size_t stale = 0;
  const auto is_stale = [&](std::size_t i) {
    return gpu.samples[i].watts == gpu.samples[i - 1].watts;
  };
  for (std::size_t i = 1; i < gpu.samples.size(); ++i) {
    const bool is_inside = window.contains(gpu.samples[i].unix_s);
    inside += is_inside ? 1 : 0;
    stale += is_inside && is_stale(i) ? 1 : 0;
  }
  if (inside > 0) estimate.stale_share = static_cast<double>(stale) / static_cast<double>(inside);
  // Only a recorder that asks faster sees how often the sensor refreshes.
  if (estimate.stale_share <= 0.2 || inside - stale <= 2) return;
  std::vector<Sample> changes;
  for (std::size_t i = 1; i < gpu.samples.size(); ++i) {
    if (window.contains(gpu.samples[i].unix_s) && !is_stale(i)) changes.push_back(gpu.samples[i]);
  }
  estimate.refresh_observed_s = median_period_s(changes);
}

void judge_gpu(const Placed& placed, std::size_t i, const GpuEnergy& energy,
               EnergyEstimate& estimate) {
  const GpuReadings& gpu = placed.gpus[i];
  const SoundReadings& sound = placed.sound[i];
  const SensorModel& sensor = gpu.sensors.front();
  const Window window = placed.window;
  const double period_s = median_period_s(gpu.samples);
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
    if (!(energy.counter && energy.counter->used) &&
        is_under_sampled(sound.samples, sensor, window)) {
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
  if (is_power_capped(sound.samples, gpu.conditions, window)) {
    add_verdict(estimate, "power_capped", i, "at least half of the window above 94 % of the limit");
  }
  if (const auto code = throttling(sound.samples, gpu.conditions, window)) {
    add_verdict(estimate, *code, i);
  }
  if (window.duration_s() < 10 * std::max(period_s, sensor.window_s)) {
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

void judge_total(const Placed& placed, EnergyEstimate& estimate) {
  std::vector<std::span<const Sample>> samples;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    samples.emplace_back(placed.sound[i].samples);
    names.push_back(placed.gpus[i].name);
  }
  Verdict steady = steadiness(samples, placed.window);
  steady.gpus = names;
  estimate.verdicts.push_back(std::move(steady));
  if (placed.shift_s != 0) {
    estimate.verdicts.push_back(
        {"clock_offset_suspected", names,
         fmt::format("the load is {:+.2f} s from the window", placed.shift_s)});
  }
  const Estimate& total = estimate.total;
  if (estimate.published_j < total.low_j() || estimate.published_j > total.high_j()) {
    estimate.verdicts.push_back({"published_outside_interval", names, {}});
  }
  if (estimate.published_j < total.repeatability_low_j() ||
      estimate.published_j > total.repeatability_high_j()) {
    estimate.verdicts.push_back({"published_biased", names, {}});
  }
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
  if (most_j > 0) estimate.components.push_back(component("window_place", most_j / std::sqrt(3)));
}

std::vector<GpuEnergy> energies_of(const EstimateQuestion& question, const Placed& placed) {
  const bool is_shifted = placed.shift_s != 0;
  std::vector<GpuEnergy> energies(placed.gpus.size());
  in_parallel(energies.size(), question.most_threads, [&](std::size_t i) {
    const GpuReadings& gpu = placed.gpus[i];
    energies[i] = gpu_energy(
        {gpu, placed.sound[i], placed.window, is_shifted ? 0 : question.clock_uncertainty_s,
         is_cut(gpu) ? placed.cut : StampUncertainty(), is_shifted ? kShiftUncertainty_s : 0});
  });
  return energies;
}

void add_up(const EstimateQuestion& question, const Placed& placed,
            const std::vector<GpuEnergy>& energies, EnergyEstimate& estimate) {
  std::vector<CombinedGpu> gpus;
  std::vector<std::span<const Sample>> samples;
  double shift_j = 0;
  double edges_j = 0;
  double counter_j = 0;
  double clock_j = 0;
  bool assumes_load_in_window = false;
  for (std::size_t i = 0; i < energies.size(); ++i) {
    gpus.push_back({&estimate.gpus[i].energy, placed.gpus[i].model});
    samples.emplace_back(placed.sound[i].samples);
    shift_j += energies[i].shift_j;
    edges_j += energies[i].edges_j;
    counter_j += energies[i].counter_j;
    if (placed.shift_s != 0) {
      clock_j += later_energy_change_j(placed.gpus[i].samples, question.window, placed.shift_s);
    }
    assumes_load_in_window |= energies[i].assumes_load_in_window;
  }
  estimate.total = combine(gpus, change_correlation(samples, placed.window));
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
  const Placed placed = place(question);
  if (const std::string reason = refusal(placed); !reason.empty()) {
    estimate.reasons.push_back(reason);
    return estimate;
  }
  const bool all_moments = std::ranges::all_of(placed.gpus, [](const GpuReadings& gpu) {
    return gpu.sensors.front().sees_moments(median_period_s(gpu.samples));
  });
  estimate.method = all_moments ? "lines_between_moments" : "random_walk_posterior";
  const std::vector<GpuEnergy> energies = energies_of(question, placed);
  for (std::size_t i = 0; i < placed.gpus.size(); ++i) {
    const GpuReadings& gpu = placed.gpus[i];
    GpuEstimate own;
    own.name = gpu.name;
    own.published_j = *gpu.published_j;
    own.energy = energies[i].energy;
    own.counter = energies[i].counter;
    for (const SensorModel& sensor : gpu.sensors) own.windows_s.push_back(sensor.window_s);
    add_place(question, placed.gpus[i].samples, own.energy);
    add_accuracy(own.energy, question.accuracy, placed.window.duration_s());
    observe_refresh(gpu, placed.window, own);
    estimate.published_j += own.published_j;
    estimate.gpus.push_back(std::move(own));
    judge_gpu(placed, i, energies[i], estimate);
  }
  add_up(question, placed, energies, estimate);
  judge_idle(placed, estimate);
  judge_total(placed, estimate);
  return estimate;
}

}  // namespace aggregate_power
