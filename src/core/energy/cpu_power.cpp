// Chooses the CPU sensors and integrates them socket by socket.
#include "core/energy/cpu_power.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "core/energy/integrate.h"

namespace aggregate_power {
namespace {

constexpr std::size_t index_of(CpuSensor sensor) { return static_cast<std::size_t>(sensor); }

// Subjects of the metrics. One kind of CPU sensor feeds `cpu`.
enum Family : std::size_t { module, cpu, cpu_rail, cpu_sysio, kFamilies };

constexpr int kDecimals = 3;

// The first of these that all sockets have counts.
constexpr CpuSensor kHeadlines[] = {CpuSensor::module, CpuSensor::grace_socket,
                                    CpuSensor::dcgm_cpu_rail};

struct Keys {
  std::string_view avg_total_power_w;
  std::string_view total_energy_j;
};
constexpr Keys kKeys[kFamilies] = {{"avg_total_module_power_w", "total_module_energy_j"},
                                   {"avg_total_cpu_power_w", "total_cpu_energy_j"},
                                   {"avg_total_cpu_rail_power_w", "total_cpu_rail_energy_j"},
                                   {"avg_total_cpu_sysio_power_w", "total_cpu_sysio_energy_j"}};

bool is_rail(std::size_t family) { return family == cpu_rail || family == cpu_sysio; }

void add_metrics(const std::array<std::optional<double>, kFamilies>& energy_j, Window window,
                 CpuPower& result) {
  Metrics metrics;
  const double duration_s = window.duration_s();
  if (energy_j[cpu]) {
    const auto sockets = static_cast<double>(result.expected_sockets);
    metrics.push_back({"avg_cpu_socket_power_w", kDecimals, *energy_j[cpu] / duration_s / sockets});
  }
  for (const Family family : {cpu, module, cpu_rail, cpu_sysio}) {
    if (!energy_j[family]) continue;
    metrics.push_back({kKeys[family].avg_total_power_w, kDecimals, *energy_j[family] / duration_s});
    metrics.push_back({kKeys[family].total_energy_j, kDecimals, *energy_j[family]});
  }
  for (const Metric& metric : metrics) {
    if (!std::isfinite(metric.value)) {
      result.reasons.add(Reason::non_finite_power_metric, std::string(metric.key));
    }
  }
  if (result.reasons.empty()) result.metrics = std::move(metrics);
}

// The same where rails and modules may have rows of their own: "CPU0:modulePowerUsageW", "SysIO
// Power Socket 0".
std::optional<CpuSensor> host_cpu_sensor(std::string_view recorded_name) {
  static constexpr Pattern of_rail(
      R"(.*:cpuRailPowerUsageW|.*\bCPU([\s\v]+Rail)?([\s\v]+Input)?[\s\v]+Power)"
      R"(([\s\v]+in[\s\v]+uW)?[\s\v]+Socket[\s\v]+\d+\b.*)",
      Pattern::Case::either);
  static constexpr Pattern of_sysio(
      R"(.*:socPowerUsageW|.*\b(SoC[\s\v]+Rail([\s\v]+Input)?[\s\v]+Power([\s\v]+in[\s\v]+uW)?)"
      R"(|SysIO[\s\v]+Power)[\s\v]+Socket[\s\v]+\d+\b.*)",
      Pattern::Case::either);
  if (recorded_name.ends_with(":modulePowerUsageW")) return CpuSensor::module;
  if (of_rail.matches(recorded_name)) return CpuSensor::cpu_rail;
  if (of_sysio.matches(recorded_name)) return CpuSensor::cpu_sysio;
  return cpu_sensor(recorded_name);
}

}  // namespace

std::optional<CpuSensor> cpu_sensor(std::string_view recorded_name) {
  const std::size_t colon = recorded_name.find(':');
  const std::string_view suffix =
      colon == std::string_view::npos ? std::string_view() : recorded_name.substr(colon + 1);
  if (suffix == "cpuSidePowerUsageW") return CpuSensor::grace_socket;
  if (suffix == "cpuPowerUsageW") return CpuSensor::dcgm_cpu_rail;

  // Matches Python's ASCII blanks, including the vertical tab that RE2's "\s" leaves out.
  static constexpr Pattern module_name(R"(\bModule[\s\v]+Power[\s\v]+Socket[\s\v]+\d+\b)",
                                       Pattern::Case::either);
  static constexpr Pattern grace_name(
      R"(\b(Grace[\s\v]+Power|Total([\s\v]+Input)?[\s\v]+Power([\s\v]+in[\s\v]+uW)?))"
      R"([\s\v]+Socket[\s\v]+\d+\b)",
      Pattern::Case::either);
  if (module_name.is_found_in(recorded_name)) return CpuSensor::module;
  if (grace_name.is_found_in(recorded_name)) return CpuSensor::grace_socket;
  return std::nullopt;
}

const std::optional<CpuSensor>& CpuPowerGatherer::sensor_of(const std::string& recorded_name) {
  const auto [at, is_new] = sensors_.try_emplace(recorded_name);
  if (is_new) {
    at->second = is_of_hosts_ ? host_cpu_sensor(recorded_name) : cpu_sensor(recorded_name);
  }
  return at->second;
}

void CpuPowerGatherer::take(const CpuSample& sample) {
  ++rows_;
  has_module_column_ |= sample.has_module_column;
  const std::optional<CpuSensor>& sensor = sensor_of(sample.sensor);
  if (!sensor) return;
  auto& socket = sockets_[{sample.hostname, sample.socket_id}];
  socket[index_of(*sensor)].push_back({sample.unix_s, sample.power_w});
  sources_[index_of(*sensor)].insert(sample.source);
  const auto add = [&](CpuSensor of_column, std::optional<double> watts) {
    if (!watts) return;
    socket[index_of(of_column)].push_back({sample.unix_s, *watts});
    sources_[index_of(of_column)].insert(sample.source);
  };
  if (sensor == CpuSensor::grace_socket || sensor == CpuSensor::dcgm_cpu_rail) {
    add(CpuSensor::module, sample.module_w);
  }
  if (sensor != CpuSensor::grace_socket) return;
  add(CpuSensor::cpu_rail, sample.cpu_rail_w);
  add(CpuSensor::cpu_sysio, sample.soc_w);
}

// Also puts all series in time order.
bool CpuPowerGatherer::has_duplicates() {
  bool found = false;
  for (auto& [socket, series] : sockets_) {
    for (Series& samples : series) {
      std::ranges::sort(samples, {}, &Sample::unix_s);
      found |= std::ranges::adjacent_find(samples, {}, &Sample::unix_s) != samples.end();
    }
  }
  return found;
}

bool CpuPowerGatherer::all_have(CpuSensor sensor) const {
  return std::ranges::all_of(
      sockets_, [&](const auto& socket) { return !socket.second[index_of(sensor)].empty(); });
}

// Module power of a column is an extra: where a socket lacks some of it, there is none.
void CpuPowerGatherer::drop_incomplete_modules(Window window, CpuPower& result) {
  for (const auto& [socket, series] : sockets_) {
    DeviceIntegrator integrator(window);
    for (const Sample& sample : series[index_of(CpuSensor::module)]) {
      integrator.add(sample.unix_s, sample.watts);
    }
    const DeviceEnergy energy = integrator.finish();
    if (energy.bracketed && energy.max_sample_gap_s <= kMaxCpuSampleGapS) continue;
    result.notes.push_back(fmt::format(
        "module power is left out: that of {}/socket{} {}", printable(socket.first), socket.second,
        energy.bracketed ? fmt::format("has a gap of {:.3f} s, at most {} s are allowed",
                                       energy.max_sample_gap_s, kMaxCpuSampleGapS)
                         : "does not cover the window"));
    for (auto& each : sockets_) each.second[index_of(CpuSensor::module)].clear();
    return;
  }
}

// Which kinds of sensor feed which metrics.
std::vector<CpuPowerGatherer::Feed> CpuPowerGatherer::choose_feeds(CpuSensor headline) const {
  std::vector<Feed> feeds;
  if (headline == CpuSensor::module) feeds.push_back({CpuSensor::module, module});
  for (const CpuSensor sensor : {CpuSensor::grace_socket, CpuSensor::dcgm_cpu_rail}) {
    if (!all_have(sensor)) continue;
    feeds.push_back({sensor, cpu});
    if (sensor == CpuSensor::dcgm_cpu_rail) break;
    if (all_have(CpuSensor::cpu_rail)) feeds.push_back({CpuSensor::cpu_rail, cpu_rail});
    if (all_have(CpuSensor::cpu_sysio)) feeds.push_back({CpuSensor::cpu_sysio, cpu_sysio});
    break;
  }
  return feeds;
}

void CpuPowerGatherer::integrate(Window window, CpuPower& result) {
  std::array<std::optional<double>, kFamilies> energy_j;
  std::array<bool, kFamilies> is_dropped{};
  const std::vector<Feed> feeds = choose_feeds(*result.sensor);
  for (const auto& [socket, series] : sockets_) {
    for (const Feed& feed : feeds) {
      const std::string label =
          fmt::format("{}/socket{}/{}", socket.first, socket.second, name(feed.sensor));
      DeviceIntegrator integrator(window);
      for (const Sample& sample : series[index_of(feed.sensor)]) {
        integrator.add(sample.unix_s, sample.watts);
      }
      const DeviceEnergy energy = integrator.finish();
      if (energy.bracketed) result.max_sample_gap_s.emplace_back(label, energy.max_sample_gap_s);
      if (!energy.bracketed || energy.max_sample_gap_s > kMaxCpuSampleGapS) {
        if (is_rail(feed.family)) {
          is_dropped[feed.family] = true;
        } else if (!energy.bracketed) {
          result.reasons.add(Reason::cpu_window_not_bracketed, printable(label));
        } else {
          result.reasons.add(Reason::cpu_sample_gap_exceeded,
                             fmt::format("{}: {:.3f} s, at most {} s", printable(label),
                                         energy.max_sample_gap_s, kMaxCpuSampleGapS));
        }
        continue;
      }
      result.energy_j.emplace_back(label, energy.energy_j);
      energy_j[feed.family] = energy_j[feed.family].value_or(0) + energy.energy_j;
    }
  }
  if (!result.reasons.empty()) {
    result.energy_j.clear();
    return;
  }
  for (std::size_t family = 0; family < kFamilies; ++family) {
    if (is_dropped[family]) energy_j[family].reset();
  }
  add_metrics(energy_j, window, result);
}

CpuPower CpuPowerGatherer::finish(const CpuPowerRequest& request, const Reasons& faults) {
  CpuPower result;
  result.reasons = faults;
  result.rows = rows_;
  // Rails alone make no socket.
  std::erase_if(sockets_, [](const auto& socket) {
    return std::ranges::all_of(
        kHeadlines, [&](CpuSensor sensor) { return socket.second[index_of(sensor)].empty(); });
  });
  result.observed_sockets = sockets_.size();
  if (has_duplicates()) {
    result.reasons.add(Reason::cpu_samples_malformed, "a sensor has the same timestamp twice");
  }
  std::set<Socket> expected;
  for (const std::string& host : request.expected_hosts) {
    for (std::int64_t socket = 0; socket < kSocketsPerHost; ++socket) {
      expected.emplace(host, socket);
    }
  }
  result.expected_sockets = expected.size();
  if (!request.window) result.reasons.add(Reason::cpu_window_unavailable);
  if (!result.reasons.empty()) return result;

  const auto is_wanted = [](const auto& seen, const Socket& wanted) {
    return seen.first == wanted;
  };
  if (expected.empty() || !std::ranges::equal(sockets_, expected, is_wanted)) {
    result.reasons.add(Reason::cpu_socket_count_mismatch,
                       fmt::format("{} seen, {} expected", sockets_.size(), expected.size()));
    return result;
  }
  if (has_module_column_) drop_incomplete_modules(*request.window, result);
  for (const CpuSensor sensor : kHeadlines) {
    if (!all_have(sensor)) continue;
    if (sources_[index_of(sensor)].size() == 1) {
      result.sensor = sensor;
      result.source = *sources_[index_of(sensor)].begin();
    }
    break;
  }
  if (!result.sensor) {
    result.reasons.add(Reason::cpu_sensor_kind_mixed);
    return result;
  }
  const std::optional<std::string>& source = request.expected_source;
  if (source && (*source != *result.source ||
                 (*source == "acpi" && result.sensor == CpuSensor::dcgm_cpu_rail))) {
    result.reasons.add(Reason::cpu_sensor_source_mismatch,
                       fmt::format("{} from {}, {} expected", name(*result.sensor),
                                   printable(*result.source), printable(*source)));
    return result;
  }
  integrate(*request.window, result);
  return result;
}

}  // namespace aggregate_power
