// Draws recordings, and asks where their loads are.
#include "truth/place_table.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/telemetry/samples.h"
#include "energy/shares/window_placement.h"
#include "energy/uncertainty/uncertainty.h"
#include "energy/zones/load_place.h"

namespace truth {
namespace {

using aggregate_power::Sample;

constexpr double kStart_s = 1788852000;
constexpr double kWrong = 0.02;
constexpr double kNamed_s = 3;
constexpr std::size_t kOthersInMessage = 3;

// The power of a few GPUs on one time line, in cells.
class Scene {
 public:
  Scene(double length_s, std::size_t gpus, Random& random)
      : random_(random),
        idle_w_(random.uniform(55, 120)),
        watts_(gpus, std::vector<double>(static_cast<std::size_t>(length_s / TruePower::kStep_s))) {
    for (auto& watts : watts_) {
      const double own_w = idle_w_ * random.uniform(0.97, 1.03);
      for (double& cell : watts) cell = own_w;
    }
  }

  // A load of some shape at a share of its power.
  void add_load(Shape shape, double from_s, double length_s, double share) {
    const TrueLoad load = make_load(shape, length_s, watts_.size(), 0, random_);
    for (std::size_t gpu = 0; gpu < watts_.size(); ++gpu) {
      const std::vector<double>& source = load.gpus[gpu].watts();
      const std::size_t first = cell(from_s);
      const std::size_t count = std::min(source.size(), watts_[gpu].size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        double& watts = watts_[gpu][first + i];
        watts += share * std::max(0.0, source[i] - watts);
      }
    }
  }
  void add_level(double from_s, double to_s, double extra_w) {
    for (auto& watts : watts_) {
      for (std::size_t i = cell(from_s); i < std::min(cell(to_s), watts.size()); ++i) {
        watts[i] = std::max(watts[i], idle_w_ + extra_w);
      }
    }
  }
  // Scales what is above idle in a stretch from one factor to another.
  void slope(double from_s, double to_s, double first, double last) {
    for (auto& watts : watts_) {
      const std::size_t begin = cell(from_s);
      const std::size_t end = std::min(cell(to_s), watts.size());
      for (std::size_t i = begin; i < end; ++i) {
        const double at = static_cast<double>(i - begin) / static_cast<double>(end - begin);
        watts[i] = idle_w_ + std::max(0.0, watts[i] - idle_w_) * (first + at * (last - first));
      }
    }
  }
  double idle_w() const { return idle_w_; }

  // What recorders show of each GPU, from `from_s` to `to_s`.
  std::vector<std::vector<Sample>> readings(Sensor sensor, double period_s, double from_s,
                                            double to_s) const {
    std::vector<std::vector<Sample>> all;
    for (const std::vector<double>& watts : watts_) {
      // readings_of() asks from 6.5 s before its window to 6.5 s after it.
      const TruePower power(-from_s - 6.5, watts);
      const double length_s = to_s - from_s - 13;
      all.push_back(
          readings_of(sensor, power, kStart_s + from_s + 6.5, length_s, period_s, random_));
    }
    return all;
  }

 private:
  static std::size_t cell(double at_s) {
    return static_cast<std::size_t>(std::max(0.0, at_s) / TruePower::kStep_s);
  }

  Random& random_;
  double idle_w_;
  std::vector<std::vector<double>> watts_;
};

std::vector<std::span<const Sample>> spans_of(const std::vector<std::vector<Sample>>& gpus) {
  return {gpus.begin(), gpus.end()};
}

double energy_j(const std::vector<std::vector<Sample>>& gpus, Window window) {
  double sum_j = 0;
  for (const auto& samples : gpus) sum_j += aggregate_power::line_energy_j(samples, window);
  return sum_j;
}

// Loads before and after the one at `at_s`, with pauses between them.
void add_sweep(Scene& scene, Shape shape, double at_s, double length_s, bool equal, double end_s,
               Random& random) {
  const double pause_s = random.uniform(8, 30);
  const auto length = [&] { return equal ? length_s : length_s * random.uniform(0.4, 1.8); };
  const auto share = [&] { return equal ? 1.0 : random.uniform(0.4, 1.0); };
  for (double from_s = at_s + length_s + pause_s; from_s < end_s;) {
    const double of_s = length();
    if (from_s + of_s > end_s) break;
    scene.add_load(shape, from_s, of_s, share());
    from_s += of_s + pause_s;
  }
  for (double to_s = at_s - pause_s; to_s > 0;) {
    const double of_s = length();
    if (to_s < of_s) break;
    scene.add_load(shape, to_s - of_s, of_s, share());
    to_s -= of_s + pause_s;
  }
}

void add_margin(Scene& scene, Margin margin, Shape shape, double at_s, double length_s,
                double end_s, Random& random) {
  const double to_s = at_s + length_s;
  switch (margin) {
    case Margin::idle:
      break;
    case Margin::warm_up: {
      const double warm_s = random.uniform(4, 0.5 * length_s);
      scene.add_load(shape, at_s - random.uniform(4, 15) - warm_s, warm_s, 1);
      break;
    }
    case Margin::joined_warm_up: {
      const double warm_s = random.uniform(4, 0.25 * length_s);
      scene.add_load(shape, at_s - warm_s, warm_s, 1);
      break;
    }
    case Margin::evaluation:
      scene.add_load(shape, to_s, random.uniform(10, 60), random.uniform(0.2, 0.35));
      break;
    case Margin::equal_loads:
    case Margin::other_loads:
      add_sweep(scene, shape, at_s, length_s, margin == Margin::equal_loads, end_s, random);
      break;
    case Margin::ramps:
      scene.slope(at_s, at_s + random.uniform(0.05, 0.25) * length_s, 0.15, 1);
      scene.slope(to_s - random.uniform(0.05, 0.2) * length_s, to_s, 1, 0.15);
      break;
    case Margin::prefill_decode:
      scene.slope(at_s + random.uniform(0.2, 0.5) * length_s, to_s, 0.55, 0.5);
      break;
    case Margin::model_loads:
      scene.add_level(at_s - random.uniform(10, 60), end_s, random.uniform(20, 60));
      break;
    case Margin::cool_down:
      scene.add_level(to_s, to_s + random.uniform(5, 30), random.uniform(10, 40));
      break;
  }
}

Sensor any_sensor(Random& random) {
  constexpr Sensor kSensors[] = {Sensor::average_1s, Sensor::average_1s, Sensor::full_100ms,
                                 Sensor::a100};
  return kSensors[random.below(std::size(kSensors))];
}

PlaceFigures judge_clock(Margin margin, Shape shape, std::uint64_t seed) {
  Random random(seed);
  constexpr double kAround_s = 145;
  const double length_s = std::exp(random.uniform(std::log(12), std::log(180)));
  const double all_s = length_s + 2 * kAround_s;
  Scene scene(all_s, 1 + random.below(3), random);
  scene.add_load(shape, kAround_s, length_s, 1);
  add_margin(scene, margin, shape, kAround_s, length_s, all_s, random);
  constexpr double kPeriods[] = {0.1, 0.2, 0.5, 1, 1, 1, 2};
  const double period_s = kPeriods[random.below(std::size(kPeriods))];
  const auto gpus = scene.readings(any_sensor(random), period_s, 0, all_s);
  const Window right = {kStart_s + kAround_s, kStart_s + kAround_s + length_s};
  const double true_j = energy_j(gpus, right);

  PlaceFigures figures;
  figures.good = 1;
  const auto doubt = aggregate_power::energy::load_elsewhere(spans_of(gpus), right);
  figures.refused = doubt && doubt->is_certain() ? 1 : 0;
  figures.good_warned = doubt && !doubt->is_certain() ? 1 : 0;
  const double least_s = std::max(5.0, 0.05 * length_s) + 1;
  const double off_s = random.uniform(least_s, 120) * (random.chance(0.5) ? 1 : -1);
  const Window window = {right.start_unix_s + off_s, right.end_unix_s + off_s};
  const auto load = aggregate_power::energy::load_elsewhere(spans_of(gpus), window);
  figures.moved = 1;
  if (!load) {
    figures.wrong = std::abs(energy_j(gpus, window) / true_j - 1) > kWrong ? 1 : 0;
    return figures;
  }
  if (!load->is_certain()) {
    figures.warned = 1;
    return figures;
  }
  std::vector<double> offsets_s = load->others_s;
  offsets_s.resize(std::min(offsets_s.size(), kOthersInMessage));
  offsets_s.push_back(load->offset_s);
  const bool is_named = std::ranges::any_of(
      offsets_s, [&](double offset_s) { return std::abs(offset_s + off_s) <= kNamed_s; });
  ++(is_named ? figures.named : figures.misnamed);
  return figures;
}

WrappedFigures judge_wrapped(Shape shape, double period_s, std::uint64_t seed) {
  Random random(seed);
  const double length_s = std::exp(random.uniform(std::log(20), std::log(120)));
  const double set_up_s = random.uniform(3, 30);
  const double writing_s = random.uniform(0.3, 3);
  const double begin_s = 12;  // of the command
  const double at_s = begin_s + set_up_s;
  const double end_s = at_s + length_s + writing_s;
  Scene scene(end_s + 20, 1 + random.below(3), random);
  scene.add_load(shape, at_s, length_s, 1);
  if (random.chance(0.3) && set_up_s > 8) {
    const double warm_s = random.uniform(1, set_up_s - 6);
    scene.add_load(shape, at_s - random.uniform(2, 5) - warm_s, warm_s, random.uniform(0.3, 0.7));
  }
  const auto gpus =
      scene.readings(any_sensor(random), period_s, begin_s - 4, end_s + 2.2 * period_s);
  aggregate_power::Samples samples(aggregate_power::kAlways);
  samples.devices() = gpus;
  const double true_j = energy_j(gpus, {kStart_s + at_s, kStart_s + at_s + length_s});
  const auto placement =
      aggregate_power::find_placement({.duration_s = length_s,
                                       .earliest_start_s = kStart_s + begin_s,
                                       .latest_start_s = kStart_s + end_s - length_s,
                                       .likely_start_s = kStart_s + end_s - length_s,
                                       .is_of_command = true},
                                      samples);
  WrappedFigures figures;
  figures.runs = 1;
  if (!placement || !placement->is_by_power) {
    figures.refused = 1;
    return figures;
  }
  figures.mean_error = figures.largest_error = std::abs(placement->energy_j / true_j - 1);
  const bool holds = placement->low_j <= true_j && true_j <= placement->high_j;
  figures.wrong = figures.largest_error > kWrong && !holds ? 1 : 0;
  return figures;
}

double share(std::size_t part, std::size_t all) {
  return all ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

}  // namespace

std::string name_of(Margin margin) {
  static const char* const kNames[] = {
      "idle",        "warm-up", "joined warm-up",     "evaluation",  "equal loads",
      "other loads", "ramps",   "prefill and decode", "model loads", "cools down"};
  return kNames[static_cast<std::size_t>(margin)];
}

void PlaceFigures::add(const PlaceFigures& other) {
  good += other.good;
  refused += other.refused;
  good_warned += other.good_warned;
  moved += other.moved;
  warned += other.warned;
  named += other.named;
  misnamed += other.misnamed;
  wrong += other.wrong;
}

void WrappedFigures::add(const WrappedFigures& other) {
  const std::size_t placed = runs - refused;
  const std::size_t more = other.runs - other.refused;
  if (placed + more > 0) {
    mean_error =
        (mean_error * static_cast<double>(placed) + other.mean_error * static_cast<double>(more)) /
        static_cast<double>(placed + more);
  }
  largest_error = std::max(largest_error, other.largest_error);
  runs += other.runs;
  refused += other.refused;
  wrong += other.wrong;
}

std::vector<PlaceFigures> make_clock_table(std::size_t runs, std::uint64_t first_seed) {
  std::vector<PlaceFigures> table;
  PlaceFigures all{.name = "all"};
  std::uint64_t seed = first_seed;
  for (const Margin margin : kMargins) {
    PlaceFigures row{.name = name_of(margin)};
    for (const Shape shape : kShapes) {
      for (std::size_t i = 0; i < runs; ++i) row.add(judge_clock(margin, shape, seed++));
    }
    all.add(row);
    table.push_back(row);
  }
  table.push_back(all);
  return table;
}

std::string clock_table_text(const std::vector<PlaceFigures>& table) {
  std::string text =
      "around the load        good  refused  warned    off  named  misnamed  warned  wrong\n";
  for (const PlaceFigures& row : table) {
    text += fmt::format("{:<20} {:>6} {:>6.1f} % {:>5.1f} % {:>6} {:>4.0f} % {:>9} {:>7} {:>6}\n",
                        row.name, row.good, share(row.refused, row.good),
                        share(row.good_warned, row.good), row.moved, share(row.named, row.moved),
                        row.misnamed, row.warned, row.wrong);
  }
  return text;
}

std::vector<WrappedFigures> make_wrapped_table(std::size_t runs, std::uint64_t first_seed) {
  constexpr int kPeriods = 30;
  std::vector<WrappedFigures> table;
  WrappedFigures all{.name = "all"};
  std::uint64_t seed = first_seed;
  for (const Shape shape : kShapes) {
    WrappedFigures row{.name = name_of(shape)};
    for (int i = 0; i < kPeriods; ++i) {
      const double period_s = 0.1 * std::pow(20, static_cast<double>(i) / (kPeriods - 1));
      for (std::size_t run = 0; run < runs; ++run) {
        row.add(judge_wrapped(shape, period_s, seed++));
      }
    }
    all.add(row);
    table.push_back(row);
  }
  table.push_back(all);
  return table;
}

std::string wrapped_table_text(const std::vector<WrappedFigures>& table) {
  std::string text = "load          runs  refused  mean error  largest  wrong\n";
  for (const WrappedFigures& row : table) {
    text += fmt::format("{:<12} {:>5} {:>6.1f} % {:>9.2f} % {:>6.1f} % {:>6}\n", row.name, row.runs,
                        share(row.refused, row.runs), 100 * row.mean_error, 100 * row.largest_error,
                        row.wrong);
  }
  return text;
}

}  // namespace truth
