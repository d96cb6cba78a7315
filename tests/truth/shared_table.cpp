// Draws loads of requests, and timelines of layers.
#include "truth/shared_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/placed_interval.h"
#include "truth/request_load.h"
#include "truth/simulated_run.h"

namespace truth {
namespace {

using aggregate_power::AttributionRules;
using aggregate_power::EstimateQuestion;
using aggregate_power::FleetPower;
using aggregate_power::GpuReadings;
using aggregate_power::Interpolation;
using aggregate_power::IntervalStore;
using aggregate_power::PlacedInterval;
using aggregate_power::PlacedShares;
using aggregate_power::PowerTrace;
using aggregate_power::RequestTimes;
using aggregate_power::Sample;
using aggregate_power::SensorModel;
using aggregate_power::SharingRequest;
using aggregate_power::TimeResolution;
using aggregate_power::TraceInterval;
using aggregate_power::WholeEnergy;

constexpr double kStartUnixS = 1788852000;
constexpr double kLead_s = 9;

// Readings of a board with errors of gain and offset. The gains of few boards are drawn evenly from
// their distribution: each is in all energies of a load.
void mistune(std::vector<Sample>& readings, std::size_t load, std::size_t loads, Random& random) {
  const double probability =
      (static_cast<double>(load * 7 % loads) + 0.5) / static_cast<double>(loads);
  const double gain =
      std::hypot(0.022, 0.029) *
      aggregate_power::student_t_quantile(probability, std::numeric_limits<double>::infinity());
  const double offset_w = random.normal(4.9);
  for (Sample& reading : readings) reading.watts += gain * (reading.watts - 88) + offset_w;
}

std::optional<WholeEnergy> whole_of(Window window, const std::vector<Sample>& readings,
                                    const std::vector<SensorModel>& sensors) {
  EstimateQuestion question{.window = window, .gpus = {}};
  question.gpus.push_back({.name = "0", .model = "", .samples = readings, .counter = {}});
  question.gpus.back().sensors = sensors;
  const auto estimate = estimate_energy(std::move(question));
  if (!estimate.is_available()) return std::nullopt;
  return whole_energy(estimate.total, window.duration_s());
}

TimeResolution resolution_of(const SensorModel& sensor, double period_s) {
  return {.window_s = sensor.window_s,
          .period_s = period_s,
          .age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2};
}

// The curve inside a window, with knots at its edges.
FleetPower curve_in(Window window, const PowerTrace& power) {
  std::vector<Sample> knots = {{window.start_unix_s, power.watts_at(window.start_unix_s)}};
  for (const Sample& sample : power.samples()) {
    if (sample.unix_s > window.start_unix_s && sample.unix_s < window.end_unix_s) {
      knots.push_back(sample);
    }
  }
  knots.push_back({window.end_unix_s, power.watts_at(window.end_unix_s)});
  return FleetPower(std::move(knots));
}

// A fine curve of the power that was drawn, by the middles of its cells.
PowerTrace drawn_power(const TruePower& power) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < power.watts().size(); ++i) {
    const double cells = static_cast<double>(i) + 0.5;
    samples.push_back(
        {kStartUnixS + power.first_s() + cells * TruePower::kStep_s, power.watts()[i]});
  }
  return {"0", std::move(samples), Interpolation::linear};
}

SharedFigures judge_requests(const RequestClass& wanted, std::size_t loads, std::uint64_t seed) {
  SharedFigures figures{.name = "requests, " + wanted.name};
  for (std::size_t i = 0; i < loads; ++i) {
    RequestLoad load = simulate_requests(wanted, seed + i);
    Random random(seed + i + 7);
    mistune(load.question.readings, i, loads, random);
    const Window window = load.question.window;
    const auto whole = whole_of(window, load.question.readings, load.question.sensors);
    if (!whole) continue;
    std::vector<SharingRequest> sharing;
    for (const RequestTimes& request : load.question.requests) {
      sharing.push_back({{request.start_s, request.end_s}});
    }
    const PowerTrace seen("0", load.question.readings, Interpolation::linear);
    const auto intervals =
        request_intervals(curve_in(window, seen), sharing,
                          resolution_of(load.question.sensors.front(), wanted.period_s), *whole);
    const auto drawn = share_energy(curve_in(window, drawn_power(load.power)), sharing);
    for (std::size_t k = 0; k < sharing.size(); ++k) {
      ++figures.drawn;
      const PlacedInterval& one = intervals[k];
      if (one.none.empty()) figures.add(one.low_j, one.joules, one.high_j, drawn.joules[k]);
    }
  }
  return figures;
}

// Layers one after the other, some with a pause between them; each name has a power of its own.
struct Timeline {
  std::vector<TraceInterval> layers;
  TruePower power;
  double duration_s = 0;
};

struct LayerClass {
  const char* name;
  Sensor sensor;
  double period_s;
  double shortest_s;
  double longest_s;
  double pause_s;
};
constexpr LayerClass kLayerClasses[] = {
    {"layers of 1.2 to 3 s, 1 s average at 10 Hz", Sensor::average_1s, 0.1, 1.2, 3, 0},
    {"layers of 1.2 to 3 s, 1 s average at 1 Hz", Sensor::average_1s, 1, 1.2, 3, 0},
    {"layers of 3 to 20 s, 1 s average at 1 Hz", Sensor::average_1s, 1, 3, 20, 0},
    {"layers with pauses, 1 s average at 10 Hz", Sensor::average_1s, 0.1, 2, 8, 2},
    {"layers of 0.3 to 2 s, 100 ms at 10 Hz", Sensor::full_100ms, 0.1, 0.3, 2, 0},
    {"layers of 2 to 8 s, A100 at 10 Hz", Sensor::a100, 0.1, 2, 8, 1}};
constexpr std::uint32_t kLayerNames = 6;

Timeline draw_timeline(const LayerClass& wanted, Random& random) {
  const double duration_s = random.uniform(40, 200);
  const double idle_w = random.uniform(70, 120);
  double level_w[kLayerNames];
  for (double& level : level_w) level = random.uniform(200, 700);
  std::vector<TraceInterval> layers;
  std::vector<double> watts;
  double noise_w = 0;
  const auto draw = [&](double until_s, double mean_w) {
    while (-kLead_s + static_cast<double>(watts.size()) * TruePower::kStep_s < until_s) {
      noise_w += 0.01 * (random.normal(20) - noise_w);
      watts.push_back(mean_w + noise_w + random.normal(5));
    }
  };
  draw(0, idle_w);
  for (double at_s = 0; at_s < duration_s - 1e-9;) {
    const auto name = static_cast<std::uint32_t>(random.below(kLayerNames));
    double end_s = at_s + random.uniform(wanted.shortest_s, wanted.longest_s);
    // The rest is no layer of its own that would be too short.
    if (end_s + wanted.shortest_s > duration_s) end_s = std::max(end_s, duration_s);
    layers.push_back({kStartUnixS + at_s, kStartUnixS + end_s, name, 0});
    draw(end_s, level_w[name]);
    at_s = end_s;
    if (wanted.pause_s > 0 && at_s < duration_s) {
      draw(at_s += random.uniform(0.2, 1) * wanted.pause_s, idle_w);
    }
  }
  const double last_s = layers.back().end_s - kStartUnixS;
  draw(last_s + kLead_s, idle_w);
  return {std::move(layers), TruePower(-kLead_s, std::move(watts)), last_s};
}

SharedFigures judge_layers(const LayerClass& wanted, std::size_t loads, std::uint64_t seed) {
  SharedFigures figures{.name = wanted.name};
  for (std::size_t i = 0; i < loads; ++i) {
    Random random(seed + i);
    const Timeline timeline = draw_timeline(wanted, random);
    const Window window = {kStartUnixS, kStartUnixS + timeline.duration_s};
    std::vector<Sample> readings = readings_of(wanted.sensor, timeline.power, kStartUnixS,
                                               timeline.duration_s, wanted.period_s, random);
    mistune(readings, i, loads, random);
    const std::vector<SensorModel> sensors = known_of(wanted.sensor);
    const auto whole = whole_of(window, readings, sensors);
    if (!whole) continue;
    IntervalStore store;
    std::vector<double> true_j(kLayerNames);
    for (const TraceInterval& layer : timeline.layers) {
      store.add(layer);
      true_j[layer.name] +=
          timeline.power.energy_j(layer.start_s - kStartUnixS, layer.end_s - kStartUnixS);
    }
    AttributionRules rules;
    rules.window = window;
    rules.nesting = aggregate_power::Nesting::innermost;
    const PlacedShares placed =
        placed_shares(PowerTrace("0", readings, Interpolation::linear), store, rules,
                      resolution_of(sensors.front(), wanted.period_s));
    for (std::size_t name = 0; name < placed.by_name.size(); ++name) {
      if (placed.by_name[name].middle.calls == 0) continue;
      ++figures.drawn;
      const PlacedInterval one = share_interval(placed.by_name[name], *whole);
      if (one.none.empty()) figures.add(one.low_j, one.joules, one.high_j, true_j[name]);
    }
  }
  return figures;
}

}  // namespace

void SharedFigures::add(double low_j, double middle_j, double high_j, double true_j) {
  coverage.add(low_j, true_j, high_j);
  error += std::abs(middle_j / true_j - 1);
  width += (high_j - low_j) / true_j;
}

std::vector<SharedFigures> make_shared_table(std::size_t loads, std::uint64_t first_seed) {
  std::vector<SharedFigures> table;
  std::uint64_t seed = first_seed;
  for (const RequestClass& each : request_classes()) {
    table.push_back(judge_requests(each, loads, seed += 100000));
  }
  for (const LayerClass& each : kLayerClasses) {
    table.push_back(judge_layers(each, loads, seed += 100000));
  }
  for (SharedFigures& row : table) {
    const auto given = static_cast<double>(std::max<std::size_t>(1, row.coverage.given));
    row.error /= given;
    row.width /= given;
  }
  return table;
}

std::string as_text(const std::vector<SharedFigures>& table) {
  std::string text = fmt::format("{:44}{:>8}{:>8}{:>9}{:>9}{}\n", "", "drawn", "given", "error",
                                 "width", kCoverageHead);
  for (const SharedFigures& row : table) {
    text +=
        fmt::format("{:44}{:8}{:8}{:8.2f}%{:8.2f}%{}\n", row.name, row.drawn, row.coverage.given,
                    100 * row.error, 100 * row.width, as_text(row.coverage));
  }
  return text;
}

}  // namespace truth
