// Samples loads of known shape as recorders do, and writes the rows.
#include "truth/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace truth {
namespace {

constexpr double kRecordedAroundS = 25;
constexpr double kRecordedStartUnixS = 1788852000;

template <class T>
const T& one_of(const std::vector<T>& choices, Random& random) {
  return choices[random.below(choices.size())];
}

std::vector<double> ticks_of(double duration_s, double period_s, Random& random) {
  std::vector<double> ticks;
  double at_s = -kRecordedAroundS + 2 + random.uniform() * period_s;
  for (; at_s < duration_s + kRecordedAroundS - 2; at_s += period_s) {
    ticks.push_back(at_s + std::min(0.2 * period_s, random.exponential(0.003)));
  }
  return ticks;
}

// Follows the power slowly.
void add_states(RecordedGpu& gpu, Random& random) {
  const auto [least, most] = std::ranges::minmax(gpu.samples, {}, &Sample::watts);
  double heat_c = 40;
  for (const Sample& sample : gpu.samples) {
    const double share = (sample.watts - least.watts) / std::max(1.0, most.watts - least.watts);
    const bool works = share > 0.1 || most.watts < 1.5 * least.watts;
    gpu.utilization_pct.push_back(works ? std::floor(random.uniform(88, 101)) : 0);
    heat_c += 0.04 * (40 + 35 * share - heat_c);
    gpu.temperature_c.push_back(std::round(heat_c));
  }
}

// Counts what was drawn, from some number on.
void add_counter(RecordedGpu& gpu, const TruePower& power, double gain, Random& random) {
  const double before_j = random.uniform(1e5, 1e7);
  for (const Sample& sample : gpu.samples) {
    const double at_s = sample.unix_s - kRecordedStartUnixS;
    gpu.counter_j.push_back(before_j + gain * power.energy_j(-kRecordedAroundS, at_s));
  }
}

double joules_in(const std::vector<Sample>& samples, Window window) {
  double joules = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    const double from_s = std::max(a.unix_s, window.start_unix_s);
    const double to_s = std::min(b.unix_s, window.end_unix_s);
    if (from_s >= to_s) continue;
    const double slope = (b.watts - a.watts) / (b.unix_s - a.unix_s);
    const double middle_s = (from_s + to_s) / 2;
    joules += (to_s - from_s) * (a.watts + slope * (middle_s - a.unix_s));
  }
  return joules;
}

std::string row_of(const RecordedRun& run, const RecordedGpu& gpu, std::size_t row) {
  const Sample& sample = gpu.samples[row];
  std::string text = fmt::format("{:.3f}", sample.unix_s);
  if (run.names_gpus) text += fmt::format(", {}", gpu.name);
  text += fmt::format(", {:.{}f}", sample.watts, run.decimals);
  if (!gpu.utilization_pct.empty()) text += fmt::format(", {:.0f}", gpu.utilization_pct[row]);
  if (!gpu.temperature_c.empty()) text += fmt::format(", {:.0f}", gpu.temperature_c[row]);
  if (!gpu.limit_w.empty()) text += fmt::format(", {:.2f}", gpu.limit_w[row]);
  if (!gpu.counter_j.empty()) text += fmt::format(", {:.3f}", gpu.counter_j[row]);
  return text + "\n";
}

}  // namespace

void RecordedGpu::erase(std::size_t row) {
  const auto at = static_cast<std::ptrdiff_t>(row);
  samples.erase(samples.begin() + at);
  for (auto* const values : {&utilization_pct, &temperature_c, &counter_j, &limit_w}) {
    if (!values->empty()) values->erase(values->begin() + at);
  }
}

double rounded_to(double watts, double quantum_w) {
  return std::max(0.0, std::round(watts / quantum_w) * quantum_w);
}

double trapezoid_j(const std::vector<RecordedGpu>& gpus, Window window) {
  double joules = 0;
  for (const RecordedGpu& gpu : gpus) joules += joules_in(gpu.samples, window);
  return joules;
}

RecordedRun sound_run(const RecordingStyle& style, Random& random) {
  RecordedRun run;
  const double duration_s = random.uniform(40, 90);
  run.window = {kRecordedStartUnixS, kRecordedStartUnixS + duration_s};
  const std::size_t gpus = one_of(style.gpus, random);
  const double period_s = one_of(style.periods_s, random);
  const double quantum_w = one_of(style.quanta_w, random);
  run.decimals = quantum_w >= 1 ? 0 : static_cast<int>(std::lround(-std::log10(quantum_w)));
  const Shape shape = style.has_idle ? Shape::edges : one_of(style.shapes, random);
  const TrueLoad load = make_load(shape, duration_s, gpus, kRecordedAroundS, random);
  const std::vector<double> ticks = ticks_of(duration_s, period_s, random);
  const double average_s = one_of(std::vector<double>{1, 1, 0.1, 0.025}, random);
  const double apart_s = random.chance(0.5) ? 0 : 0.001;
  const bool has_states = random.chance(style.states_share);
  run.files.emplace_back();
  std::vector<double> gains;
  for (std::size_t i = 0; i < gpus; ++i) gains.push_back(1 + random.normal(0.029));
  const auto read = [&](std::size_t i, double later_s) {
    RecordedGpu gpu{std::to_string(i), {}};
    for (const double tick_s : ticks) {
      const double at_s = tick_s + apart_s * static_cast<double>(i) + later_s;
      const double watts = gains[i] * load.gpus[i].mean_w(at_s - average_s, at_s);
      gpu.samples.push_back({kRecordedStartUnixS + at_s, rounded_to(watts, quantum_w)});
    }
    if (has_states) add_states(gpu, random);
    if (style.has_counter) add_counter(gpu, load.gpus[i], gains[i], random);
    return gpu;
  };
  for (std::size_t i = 0; i < gpus; ++i) run.gpus().push_back(read(i, 0));
  run.true_j = trapezoid_j(run.gpus(), run.window);
  for (std::size_t i = 0; style.again_s && i < gpus; ++i) {
    run.gpus().push_back(read(i, *style.again_s));
    run.gpus().back().name = "b/" + run.gpus().back().name;
  }
  return run;
}

std::string as_recording(const RecordedRun& run, const std::vector<RecordedGpu>& gpus) {
  const RecordedGpu& first = gpus.front();
  std::string csv =
      fmt::format("timestamp{}, power.draw [{}]{}{}{}{}\n", run.names_gpus ? ", index" : "",
                  run.unit_in_header, first.utilization_pct.empty() ? "" : ", utilization.gpu [%]",
                  first.temperature_c.empty() ? "" : ", temperature.gpu",
                  first.limit_w.empty() ? "" : ", power.limit [W]",
                  first.counter_j.empty() ? "" : ", energy_j");
  struct Row {
    double unix_s;
    std::size_t gpu;
    std::size_t row;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = 0; j < gpus[i].samples.size(); ++j) {
      rows.push_back({gpus[i].samples[j].unix_s, i, j});
    }
  }
  std::ranges::stable_sort(rows, {}, &Row::unix_s);
  for (const Row& row : rows) csv += row_of(run, gpus[row.gpu], row.row);
  return csv;
}

}  // namespace truth
