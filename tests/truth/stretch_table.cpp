// Draws runs, and windows in them.
#include "truth/stretch_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/telemetry/samples.h"
#include "energy/shares/window_placement.h"
#include "truth/simulated_run.h"

namespace truth {
namespace {

using aggregate_power::EnergyEstimate;
using aggregate_power::EstimateQuestion;
using aggregate_power::find_placement;
using aggregate_power::Placement;
using aggregate_power::placement_surroundings;
using aggregate_power::PlacementRange;
using aggregate_power::Reading;
using aggregate_power::Samples;
using aggregate_power::Window;

struct Sums {
  StretchFigures figures;

  void add(double estimate_j, double low_j, double high_j, double true_j) {
    figures.error += std::abs(estimate_j / true_j - 1);
    figures.width += (high_j - low_j) / true_j;
    figures.coverage.add(low_j, true_j, high_j);
  }
  StretchFigures finish() {
    const std::size_t given = std::max<std::size_t>(1, figures.coverage.given);
    for (double* const sum : {&figures.error, &figures.width}) *sum /= static_cast<double>(given);
    return figures;
  }
};

double sum_of_energies(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum;
}

RunClass class_of(Shape shape, double period_s) {
  return {.group = "stretches",
          .name = name_of(shape),
          .shapes = {shape},
          .sensors = {Sensor::average_1s},
          .periods_s = {period_s},
          .is_punctual = true};
}

// Where the window begins, in seconds after the load, for each kind of stretch.
double begin_of(const std::string& kind, double load_s, double length_s, Random& random) {
  if (kind == "on an edge") return random.chance(0.5) ? -length_s / 2 : load_s - length_s / 2;
  return random.uniform(2, load_s - length_s - 4);
}

StretchFigures short_windows(Shape shape, const std::string& kind, double period_s,
                             std::size_t runs, std::uint64_t seed) {
  Sums sums{{fmt::format("{} {}, every {} s", name_of(shape), kind, period_s)}};
  for (std::size_t i = 0; i < runs; ++i) {
    const SimulatedRun run = simulate(class_of(shape, period_s), seed + i);
    Random random(seed + i + 7);
    EstimateQuestion question = run.question;
    const double load_s = question.window.duration_s();
    const double length_s = random.uniform(std::max(2.0, 4 * period_s), 10);
    const double begin_s = begin_of(kind, load_s, length_s, random);
    question.window.start_unix_s += begin_s;
    question.window.end_unix_s = question.window.start_unix_s + length_s;
    const double true_j = sensor_energy_j(run, begin_s, begin_s + length_s);
    ++sums.figures.stretches;
    const EnergyEstimate estimate = estimate_energy(std::move(question));
    if (!estimate.is_available()) continue;
    sums.add(estimate.total.joules, estimate.total.repeatability_low_j(),
             estimate.total.repeatability_high_j(), true_j);
  }
  return sums.finish();
}

// A stamp within 5 s after the load, and its duration.
std::optional<Placement> place(const EstimateQuestion& question, Random& random) {
  const double duration_s = question.window.duration_s();
  const double stamp_s = std::floor(question.window.end_unix_s + random.uniform(0, 5));
  const PlacementRange range{.duration_s = duration_s,
                             .earliest_start_s = stamp_s - 30 - duration_s,
                             .latest_start_s = stamp_s + 1 - duration_s,
                             .likely_start_s = stamp_s - duration_s};
  std::vector<Reading> readings;
  for (std::uint32_t device = 0; device < question.gpus.size(); ++device) {
    for (const auto& sample : question.gpus[device].samples) {
      Reading reading;
      reading.kind = Reading::Kind::power;
      reading.device = device;
      reading.unix_s = sample.unix_s;
      reading.watts = sample.watts;
      readings.push_back(reading);
    }
  }
  Samples samples(placement_surroundings(range));
  samples.take(readings);
  samples.sort();
  return find_placement(range, samples);
}

void add_placed(double period_s, std::size_t runs, std::uint64_t seed,
                std::vector<StretchFigures>& table) {
  Sums bounds{{fmt::format("placed, bounds, every {} s", period_s)}};
  Sums intervals{{fmt::format("placed, interval, every {} s", period_s)}};
  for (std::size_t i = 0; i < runs; ++i) {
    const SimulatedRun run = simulate(class_of(Shape::batch, period_s), seed + i);
    Random random(seed + i + 7);
    EstimateQuestion question = run.question;
    const auto placement = place(question, random);
    ++bounds.figures.stretches;
    ++intervals.figures.stretches;
    if (!placement || !placement->is_by_power) continue;
    bounds.add(placement->energy_j, placement->low_j, placement->high_j,
               sum_of_energies(run.sensor_j));
    question.window = placement->window;
    question.place_half_width_s = placement->half_width_s;
    question.is_placed_by_power = true;
    const EnergyEstimate estimate = estimate_energy(std::move(question));
    if (!estimate.is_available()) continue;
    intervals.add(estimate.total.joules, estimate.total.low_j(), estimate.total.high_j(),
                  sum_of_energies(run.true_j));
  }
  table.push_back(bounds.finish());
  table.push_back(intervals.finish());
}

}  // namespace

std::vector<StretchFigures> make_stretch_table(std::size_t runs, std::uint64_t first_seed) {
  std::vector<StretchFigures> table;
  std::uint64_t seed = first_seed;
  for (const double period_s : {0.1, 0.5, 1.0}) {
    table.push_back(short_windows(Shape::batch, "on an edge", period_s, runs, seed += 100000));
    for (const Shape shape : {Shape::batch, Shape::serving, Shape::training, Shape::bursts,
                              Shape::arrivals, Shape::stages}) {
      table.push_back(short_windows(shape, "inside", period_s, runs, seed += 100000));
    }
  }
  for (const double period_s : {0.1, 0.5, 1.0, 1.5, 2.0}) {
    add_placed(period_s, runs, seed += 100000, table);
  }
  return table;
}

std::string as_text(const std::vector<StretchFigures>& table) {
  std::string text = fmt::format("{:30}{:>7}{:>7}{:>9}{:>9}{}\n", "", "drawn", "given", "error",
                                 "width", kCoverageHead);
  for (const StretchFigures& row : table) {
    text +=
        fmt::format("{:30}{:7}{:7}{:8.2f}%{:8.2f}%{}\n", row.name, row.stretches,
                    row.coverage.given, 100 * row.error, 100 * row.width, as_text(row.coverage));
  }
  return text;
}

}  // namespace truth
