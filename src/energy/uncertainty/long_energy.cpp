// Bounds the work for a long window: the posterior is computed where it matters.
#include <algorithm>
#include <cmath>
#include <vector>

#include "energy/uncertainty/placed_readings.h"
#include "energy/uncertainty/sensor_energy.h"

namespace aggregate_power {
namespace {

constexpr double kEdgeStretch_s = 60;
constexpr double kBlock_s = 30;
constexpr int kBlocks = 4;
constexpr double kMargin_s = 20;

Window with_margin(Window window) {
  return {window.start_unix_s - kMargin_s, window.end_unix_s + kMargin_s};
}

// Of a stretch at an edge of the window.
std::span<const Sample> samples_around(std::span<const Sample> samples, Window stretch) {
  return at_least_near(samples, with_margin(stretch), &Sample::unix_s);
}

// Of a part of the window, in which no load begins or ends.
SensedEnergyQuestion part_of(const SensedEnergyQuestion& question, const ReadingSeries& series,
                             Window window) {
  return {.series = series,
          .sensor = question.sensor,
          .window = window,
          .timing_s = question.timing_s,
          .may_begin = false,
          .may_end = false};
}

// Stretches that stand for `middle`.
std::vector<SensedEnergy> blocks_in(const SensedEnergyQuestion& question, Window middle) {
  std::vector<SensedEnergy> blocks;
  const double free_s = middle.duration_s() - kBlocks * kBlock_s;
  for (int i = 0; i < kBlocks; ++i) {
    const double start =
        middle.start_unix_s + free_s * (i + 0.5) / kBlocks + static_cast<double>(i) * kBlock_s;
    const Window block = {start, start + kBlock_s};
    // A pause of the recorder says nothing of the rest.
    const std::span<const Sample> around =
        samples_in(question.series.samples(), with_margin(block));
    if (around.size() < 10) continue;
    const ReadingSeries series(around);
    SensedEnergyQuestion part = part_of(question, series, block);
    part.is_brief = true;
    blocks.push_back(averaged_energy(part));
  }
  return blocks;
}

}  // namespace

SensedEnergy long_averaged_energy(const SensedEnergyQuestion& question) {
  const SensorModel& sensor = question.sensor;
  const Window window = question.window;
  const Window middle = {window.start_unix_s + kEdgeStretch_s, window.end_unix_s - kEdgeStretch_s};
  const Window start = {window.start_unix_s, middle.start_unix_s};
  const Window end = {middle.end_unix_s, window.end_unix_s};
  const ReadingSeries at_start(samples_around(question.series.samples(), start));
  const ReadingSeries at_end(samples_around(question.series.samples(), end));
  SensedEnergyQuestion first = part_of(question, at_start, start);
  first.may_begin = question.may_begin;
  SensedEnergyQuestion last = part_of(question, at_end, end);
  last.may_end = question.may_end;
  const SensedEnergy head = averaged_energy(first);
  const SensedEnergy tail = averaged_energy(last);
  const double age_s = sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  // Under straight lines, if the readings are that much older than their stamps.
  const auto older = [&](double from_unix_s, double to_unix_s) {
    return Window{from_unix_s + age_s, to_unix_s + age_s};
  };
  const PowerLine line = question.series.line();
  const double middle_j = line.energy_j(older(middle.start_unix_s, middle.end_unix_s));

  SensedEnergy result;
  result.joules = head.joules + middle_j + tail.joules;
  result.assumes_load_in_window = head.assumes_load_in_window || tail.assumes_load_in_window;
  double block_variance_j2 = 0;
  double block_between_j = 0;
  const std::vector<SensedEnergy> blocks = blocks_in(question, middle);
  double log_evidence = *head.log_evidence + *tail.log_evidence;
  for (const SensedEnergy& block : blocks) {
    const auto count = static_cast<double>(blocks.size());
    block_variance_j2 += block.sampling_j * block.sampling_j / count;
    block_between_j += block.between_windows_j / count;
    log_evidence += *block.log_evidence;
  }
  const double times = middle.duration_s() / kBlock_s;
  result.log_evidence = log_evidence;
  result.sampling_j = std::sqrt(head.sampling_j * head.sampling_j +
                                tail.sampling_j * tail.sampling_j + block_variance_j2 * times);
  result.between_windows_j =
      head.between_windows_j + tail.between_windows_j + block_between_j * times;
  result.window_known_j = head.window_known_j + tail.window_known_j;
  if (!sensor.is_averaged()) {
    result.not_seen_j = in_step_share(sensor, question.series.period_s()) * result.joules;
  }
  // What leaves the edges' stretches enters the middle.
  constexpr double kLater_s = 0.1;
  const double middle_rate_w =
      line.later_energy_change_j(older(middle.start_unix_s, middle.end_unix_s), -kLater_s) /
      kLater_s;
  result.rate_w = head.rate_w + middle_rate_w + tail.rate_w;
  result.timing_j = std::abs(result.rate_w) *
                    std::max(1e-3, std::hypot(question.timing_s, sensor.delay_uncertainty_s));
  result.shift_j = line.later_energy_change_j(window, age_s);
  result.edges_j = head.joules + tail.joules -
                   line.energy_j(older(window.start_unix_s, middle.start_unix_s)) -
                   line.energy_j(older(middle.end_unix_s, window.end_unix_s));
  return result;
}

}  // namespace aggregate_power
