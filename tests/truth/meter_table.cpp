// Draws nodes with meters, and calibrates them.
#include "truth/meter_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "energy/shares/calibration.h"
#include "truth/random.h"

namespace truth {
namespace {

using aggregate_power::Calibration;
using aggregate_power::Interpolation;
using aggregate_power::NodeWitness;
using aggregate_power::PowerTrace;
using aggregate_power::Sample;

constexpr double kStepS = 0.05;
constexpr double kLeadS = 20;
constexpr double kStart = 1'800'000'000;  // Unix seconds

// Power on a grid, constant within each cell; seconds from the start of the recording.
class Watts {
 public:
  explicit Watts(double duration_s)
      : cells_(static_cast<std::size_t>((duration_s + 2 * kLeadS) / kStepS)) {}

  std::size_t size() const { return cells_.size(); }
  double& operator[](std::size_t i) { return cells_[i]; }
  static double time_s(std::size_t i) { return static_cast<double>(i) * kStepS - kLeadS; }
  void set(double from_s, double to_s, double watts) {
    for (std::size_t i = at(from_s); i < at(to_s); ++i) cells_[i] = watts;
  }
  double now(double at_s) const { return cells_[std::min(at(at_s), cells_.size() - 1)]; }
  void sum_up() {
    sums_.assign(cells_.size() + 1, 0);
    for (std::size_t i = 0; i < cells_.size(); ++i) sums_[i + 1] = sums_[i] + cells_[i] * kStepS;
  }
  double until(double at_s) const {
    const double place =
        std::clamp((at_s + kLeadS) / kStepS, 0.0, static_cast<double>(cells_.size()) - 1e-6);
    const auto i = static_cast<std::size_t>(place);
    return sums_[i] + (place - static_cast<double>(i)) * (sums_[i + 1] - sums_[i]);
  }
  double mean(double from_s, double to_s) const {
    return (until(to_s) - until(from_s)) / (to_s - from_s);
  }

 private:
  std::size_t at(double at_s) const {
    return std::min(static_cast<std::size_t>(std::max(0.0, (at_s + kLeadS) / kStepS)),
                    cells_.size());
  }

  std::vector<double> cells_;
  std::vector<double> sums_;
};

constexpr const char* kLoads[] = {"levels", "one run", "waves", "bursts", "three runs"};
constexpr double kIdleW = 100;

Watts load_of(std::size_t load, double duration_s, double high_w, Random& random) {
  Watts base(duration_s);
  base.set(-kLeadS, duration_s + kLeadS, kIdleW);
  const double end_s = duration_s + kLeadS;
  if (load == 0 || load == 4) {
    for (double s = -kLeadS; s < end_s;) {
      const double next_s = s + random.uniform(8, std::max(12.0, duration_s / 8));
      base.set(s, next_s, random.uniform(kIdleW, high_w));
      s = next_s;
    }
  } else if (load == 1) {
    const double from_s = random.uniform(0.15, 0.3) * duration_s;
    const double to_s = random.uniform(0.7, 0.85) * duration_s;
    base.set(from_s, to_s, high_w);
    base.set((from_s + to_s) / 2 - 2, (from_s + to_s) / 2, 1.5 * kIdleW);
  } else if (load == 2) {
    const double period_s = random.uniform(6, 60);
    for (double s = -kLeadS - period_s * random.uniform(); s < end_s; s += period_s) {
      base.set(s, s + period_s / 2, high_w);
    }
  } else {
    for (double s = -kLeadS; s < end_s;) {
      const double next_s = s + random.exponential(6);
      base.set(s, next_s, high_w * random.uniform(0.6, 1));
      s = next_s + 0.5 + random.exponential(6);
    }
  }
  return base;
}

struct Node {
  std::vector<std::vector<PowerTrace>> recordings;
  NodeWitness meter;
  double slope = 0;
  double idle_w = 0;
  double lag_s = 0;
  double gpu_age_s = 0;    // of the readings, in the mean
  double meter_age_s = 0;  // in the mean
};

template <std::size_t kCount>
double one_of(const double (&values)[kCount], Random& random) {
  return values[random.below(kCount)];
}

PowerTrace readings_of(const Watts& power, double duration_s, double window_s, double period_s,
                       Random& random) {
  std::vector<Sample> samples;
  for (double s = -2 + period_s * random.uniform(); s < duration_s + 2; s += period_s) {
    const double at_s = s + random.uniform(0, 0.02);
    samples.push_back({kStart + at_s, power.mean(at_s - window_s, at_s)});
  }
  return {"0", std::move(samples), Interpolation::linear};
}

// `fan_w` on or off for some time, and what processors add.
void add_others(Watts& node, Random& random) {
  const double fan_w = one_of({0, 30, 100}, random);
  const double stays_s = random.uniform(20, 120);
  const double cpu_w = one_of({3, 15, 40}, random);
  double fan = random.chance(0.5) ? 0.5 : -0.5;
  double until_s = -kLeadS + random.exponential(stays_s);
  double cpu = 0;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (Watts::time_s(i) > until_s) {
      fan = -fan;
      until_s += random.exponential(stays_s);
    }
    cpu += -0.05 * cpu + random.normal(std::sqrt(0.1)) * cpu_w;
    node[i] += fan * fan_w + cpu;
  }
  node.sum_up();
}

NodeWitness meter_of(const Watts& node, double duration_s, Node& made, Random& random) {
  const double refresh_s = one_of({1, 2, 5}, random);
  const double poll_s = random.chance(0.3) ? 1 : refresh_s;
  const double step_w = one_of({0, 1, 25}, random);
  const std::size_t kind = random.below(3);  // counter, means, moments
  NodeWitness meter{.name = "meter", .source = "truth", .scope = "node"};
  if (kind == 0) meter.kind = NodeWitness::Kind::counter;
  made.meter_age_s = kind == 2 ? -refresh_s / 2 : 0;
  const double first_s = -5 + refresh_s * random.uniform();
  double shown = 0;
  double shown_s = -1e9;
  for (double s = first_s; s < duration_s + 5; s += poll_s) {
    const double refreshed_s = first_s + refresh_s * std::floor((s - first_s) / refresh_s + 1e-9);
    if (refreshed_s > shown_s) {
      shown_s = refreshed_s;
      shown = kind == 0   ? node.until(shown_s)
              : kind == 1 ? node.mean(shown_s - refresh_s, shown_s)
                          : node.now(shown_s);
      if (step_w > 0) shown = std::round(shown / step_w) * step_w;
    }
    meter.readings.push_back({kStart + s + made.lag_s, shown});
  }
  return meter;
}

// Three recordings of one node, each a quarter of the whole, with as long pauses between them.
std::vector<std::vector<PowerTrace>> in_three(const std::vector<PowerTrace>& gpus,
                                              double duration_s) {
  std::vector<std::vector<PowerTrace>> recordings;
  for (std::size_t i = 0; i < 3; ++i) {
    const double from_s = kStart + duration_s * 3 / 8 * static_cast<double>(i);
    recordings.emplace_back();
    for (const PowerTrace& gpu : gpus) {
      std::vector<Sample> samples;
      for (const Sample& sample : gpu.samples()) {
        const double after_s = sample.unix_s - from_s;
        if (after_s >= 0 && after_s <= duration_s / 4) samples.push_back(sample);
      }
      recordings.back().emplace_back(gpu.device(), std::move(samples), Interpolation::linear);
    }
  }
  return recordings;
}

Node make_node(std::size_t load, Random& random) {
  const bool is_in_three = load == 4;
  const double duration_s =
      is_in_three ? one_of({600, 1200, 3600}, random) : one_of({180, 300, 600, 1200, 3600}, random);
  const auto gpus = static_cast<std::size_t>(one_of({1, 4, 8}, random));
  const Watts base = load_of(load, duration_s, random.uniform(400, 900), random);
  const double window_s = one_of({0.1, 1}, random);
  const double period_s = one_of({0.1, 0.5, 1, 2}, random);
  const double noise_w = random.uniform(5, 40);
  Node made;
  made.slope = random.uniform(1, 1.4);
  made.idle_w = random.uniform(400, 2500);
  made.lag_s = random.uniform(-7, 7);
  Watts node(duration_s);
  std::vector<PowerTrace> gpus_read;
  for (std::size_t i = 0; i < node.size(); ++i) node[i] = made.idle_w;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    Watts power(duration_s);
    const double share = random.uniform(0.9, 1.1);
    double noise = 0;
    for (std::size_t i = 0; i < power.size(); ++i) {
      const double watts = base.now(Watts::time_s(i) + kStepS / 2) * share;
      noise += -0.3 * noise + random.normal(0.7) * noise_w;
      power[i] = std::max(20.0, watts + (watts > 1.2 * kIdleW ? noise : 0));
      node[i] += made.slope * power[i];
    }
    power.sum_up();
    gpus_read.push_back(readings_of(power, duration_s, window_s, period_s, random));
    gpus_read.back().rename(fmt::format("{}", gpu));
  }
  if (is_in_three) {
    made.recordings = in_three(gpus_read, duration_s);
  } else {
    made.recordings = {std::move(gpus_read)};
  }
  made.gpu_age_s = window_s / 2;
  add_others(node, random);
  made.meter = meter_of(node, duration_s, made, random);
  return made;
}

void judge(const Node& node, MeterFigures& figures) {
  aggregate_power::CalibrationQuestion question{.recordings = {}, .meter = node.meter};
  for (const auto& gpus : node.recordings) question.recordings.emplace_back(gpus);
  const Calibration found = aggregate_power::calibrate(question);
  if (!found.refusal.empty()) return;
  const double true_lag_s = node.lag_s + node.meter_age_s - node.gpu_age_s;
  figures.bias += found.slope.value / node.slope - 1;
  figures.error += std::abs(found.slope.value / node.slope - 1);
  figures.width += found.slope.half_width() / node.slope;
  figures.lag_s += std::abs(found.lag_s.value - true_lag_s);
  figures.slope.add(found.slope.low, node.slope, found.slope.high);
  figures.idle.add(found.intercept_w.low, node.idle_w, found.intercept_w.high);
  figures.center.add(found.center_w.low, node.idle_w + node.slope * found.gpu_center_w,
                     found.center_w.high);
  figures.lag.add(found.lag_s.low, true_lag_s, found.lag_s.high);
}

}  // namespace

std::vector<MeterFigures> make_meter_table(std::size_t nodes, std::uint64_t first_seed,
                                           const std::string& filter) {
  std::vector<MeterFigures> table;
  for (std::size_t load = 0; load < std::size(kLoads); ++load) {
    MeterFigures figures{.name = kLoads[load], .nodes = nodes};
    if (figures.name.find(filter) == std::string::npos) continue;
    for (std::size_t i = 0; i < nodes; ++i) {
      Random random(first_seed + 100000 * load + i);
      judge(make_node(load, random), figures);
    }
    const auto given = static_cast<double>(std::max<std::size_t>(1, figures.slope.given));
    for (double* const sum : {&figures.bias, &figures.error, &figures.width, &figures.lag_s}) {
      *sum /= given;
    }
    table.push_back(figures);
  }
  return table;
}

std::string as_text(const std::vector<MeterFigures>& table) {
  std::string text = fmt::format("{:12}{:>7}{:>7}{:>9}{:>9}{:>9}{:>8}{:>21}{:>21}{:>21}{:>21}\n",
                                 "", "nodes", "given", "slope", "+-", "width", "lag s",
                                 "slope held", "idle held", "center held", "lag held");
  for (const MeterFigures& row : table) {
    text +=
        fmt::format("{:12}{:7}{:7}{:8.2f}%{:8.2f}%{:8.2f}%{:8.2f}{}{}{}{}\n", row.name, row.nodes,
                    row.slope.given, 100 * row.bias, 100 * row.error, 100 * row.width, row.lag_s,
                    as_text(row.slope), as_text(row.idle), as_text(row.center), as_text(row.lag));
  }
  return text;
}

}  // namespace truth
