// Integrates whole recordings and compares them with energy counters.
#include "core/energy/counter_check.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "aggregate_power/gpu.h"

namespace aggregate_power {

namespace {

// Readings with one stamp count as sorted by power: the steps between them have no width.
StreamEnergy stream_energy(std::vector<Sample> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples, [](const Sample& a, const Sample& b) {
    return std::tie(a.unix_s, a.watts) < std::tie(b.unix_s, b.watts);
  });
  StreamEnergy stream{true, samples.front().unix_s, samples.back().unix_s, 0};
  for (std::size_t i = 1; i < samples.size(); ++i) {
    stream.energy_j += (samples[i].unix_s - samples[i - 1].unix_s) *
                       (samples[i - 1].watts + samples[i].watts) / 2.0;
  }
  return stream;
}

}  // namespace

std::vector<StreamEnergy> stream_energies(const Samples& power, const Samples& negative) {
  std::vector<StreamEnergy> streams(std::max(power.devices().size(), negative.devices().size()));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    std::vector<Sample> samples;
    for (const Samples* some : {&power, &negative}) {
      if (i >= some->devices().size()) continue;
      samples.insert(samples.end(), some->devices()[i].begin(), some->devices()[i].end());
    }
    streams[i] = stream_energy(std::move(samples));
  }
  return streams;
}

CounterCheck check_counters(const EnergySnapshot& start, const EnergySnapshot& end,
                            std::span<const StreamEnergy> streams,
                            std::span<const std::string> names) {
  CounterCheck check;
  for (const auto& [id, joules] : start) {
    const auto later = end.find(id);
    if (later == end.end()) {
      check.unmatched_gpus.push_back(id);
    } else {
      check.per_gpu_delta_j.emplace_back(id, later->second - joules);
    }
  }
  for (const auto& [id, joules] : end) {
    if (!start.contains(id)) check.unmatched_gpus.push_back(id);
  }
  std::ranges::sort(check.unmatched_gpus, device_name_less);
  std::ranges::sort(check.per_gpu_delta_j, device_name_less,
                    &std::pair<std::string, double>::first);

  std::unordered_map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers.emplace(names[i], i);
  double first_unix_s = 0;
  double last_unix_s = 0;
  for (const auto& [id, delta_j] : check.per_gpu_delta_j) {
    check.accumulator_delta_j += delta_j;
    if (delta_j < 0) check.negative_delta_gpus.push_back(id);
    const auto number = numbers.find(id);
    if (number == numbers.end() || number->second >= streams.size()) continue;
    const StreamEnergy& device = streams[number->second];
    if (!device.seen) continue;
    const bool is_first = check.integrated_gpu_ids.empty();
    check.integrated_gpu_ids.push_back(id);
    check.integrated_stream_j += device.energy_j;
    first_unix_s = is_first ? device.first_unix_s : std::min(first_unix_s, device.first_unix_s);
    last_unix_s = is_first ? device.last_unix_s : std::max(last_unix_s, device.last_unix_s);
  }
  check.stream_span_s = last_unix_s - first_unix_s;
  if (check.accumulator_delta_j > 0) {
    check.relative_error =
        std::abs(check.accumulator_delta_j - check.integrated_stream_j) / check.accumulator_delta_j;
    check.within_tolerance =
        check.negative_delta_gpus.empty() && *check.relative_error <= check.tolerance;
  }
  return check;
}

}  // namespace aggregate_power
