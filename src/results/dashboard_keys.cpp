// The keys of --extended.
#include "results/dashboard_keys.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDecimals = 3;

// The consumer's limits: contract.md F.1.
constexpr std::size_t kMostReasons = 32;
constexpr std::size_t kMostGpuIds = 1024;
constexpr std::size_t kLongestText = 128;
constexpr std::size_t kLongestSource = 512;
constexpr std::uint64_t kLargestSafeInteger = (std::uint64_t{1} << 53) - 1;

constexpr const char* kKeys[] = {
    "p75_power_w",
    "p75_total_gpu_power_w",
    "p90_power_w",
    "p90_total_gpu_power_w",
    "avg_temp_c",
    "peak_temp_c",
    "avg_util_pct",
    "avg_mem_used_mb",
    "power_audit",
    "workers",
    "cpu_power_valid",
    "avg_cpu_socket_power_w",
    "avg_total_cpu_power_w",
    "total_cpu_energy_j",
    "avg_total_module_power_w",
    "total_module_energy_j",
    "avg_total_cpu_rail_power_w",
    "total_cpu_rail_energy_j",
    "avg_total_cpu_sysio_power_w",
    "total_cpu_sysio_energy_j",
};

constexpr std::size_t kCpuMetrics = 9;  // the last of them

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_relative_source(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return !text.empty() && text.size() <= kLongestSource && text.front() != '/' &&
         text.find("..") == std::string_view::npos &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Members of an object, each within its limit.
struct Members {
  void add(const char* key, std::optional<double> value) {
    if (value && std::isfinite(*value)) json[key] = *value;
  }
  void add_count(const char* key, std::optional<std::uint64_t> value) {
    if (value && *value <= kLargestSafeInteger) json[key] = *value;
  }
  void add_text(const char* key, const std::optional<std::string>& value) {
    if (value && value->size() <= kLongestText) json[key] = *value;
  }
  void add_rounded(const char* key, std::optional<double> value) {
    if (value) add(key, rounded(*value, kDecimals));
  }

  Json json = Json::object();
};

Json cpu_json(const CpuAudit& audit) {
  const auto or_null = [](const std::optional<std::string>& text) {
    return text && text->size() <= kLongestText ? Json(*text) : Json(nullptr);
  };
  return {{"sensor_kind", or_null(audit.sensor_kind)},
          {"source", or_null(audit.source)},
          {"expected_sockets", audit.expected_sockets},
          {"observed_sockets", audit.observed_sockets},
          {"reason_codes", audit.reason_codes}};
}

Json audit_json(const PowerAudit& audit) {
  Members members;
  if (audit.window) {
    members.add("window_start_unix", audit.window->start_unix_s);
    members.add("window_end_unix", audit.window->end_unix_s);
  }
  if (audit.expected_gpu_count && *audit.expected_gpu_count >= 0) {
    members.add_count("expected_gpu_count", static_cast<std::uint64_t>(*audit.expected_gpu_count));
  }
  members.add_count("observed_gpu_count", audit.observed_gpu_count);
  members.add_count("sample_count", audit.sample_count);
  members.add("max_sample_gap_s", audit.max_sample_gap_s);
  if (is_relative_source(audit.source)) members.json["source"] = audit.source;
  if (!audit.observed_gpu_ids.empty()) {
    Json ids = Json::array();
    for (const std::string& id : audit.observed_gpu_ids) {
      if (id.size() <= kLongestText && ids.size() < kMostGpuIds) ids.push_back(id);
    }
    members.json["observed_gpu_ids"] = std::move(ids);
  }
  members.add_text("producer_sha", audit.producer_sha);
  members.add_text("exporter_image_sha256", audit.exporter_image_sha256);
  if (audit.cpu) members.json["cpu"] = cpu_json(*audit.cpu);
  return std::move(members.json);
}

Json worker_json(const Worker& worker) {
  Members members;
  members.json["role"] = worker.role;
  members.json["worker_idx"] = worker.worker_idx;
  members.json["num_gpus"] = worker.num_gpus;
  members.add_rounded("avg_power_w", worker.avg_power_w);
  if (!worker.hosts.empty()) members.json["hosts"] = worker.hosts;
  members.add_rounded("avg_temp_c", worker.avg_temp_c);
  members.add_rounded("peak_temp_c", worker.peak_temp_c);
  members.add_rounded("avg_util_pct", worker.avg_util_pct);
  members.add_rounded("avg_mem_used_mb", worker.avg_mem_used_mb);
  return std::move(members.json);
}

}  // namespace

Metrics percentile_metrics(const FleetPower& power, std::size_t gpus) {
  const double p75_w = power.quantile_w(0.75);
  const double p90_w = power.quantile_w(0.9);
  const auto count = static_cast<double>(gpus);
  return {{"p75_power_w", kDecimals, p75_w / count},
          {"p75_total_gpu_power_w", kDecimals, p75_w},
          {"p90_power_w", kDecimals, p90_w / count},
          {"p90_total_gpu_power_w", kDecimals, p90_w}};
}

Metrics dashboard_metrics(const FleetMeasurement& fleet, std::size_t gpus) {
  Metrics metrics;
  if (fleet.power) metrics = percentile_metrics(*fleet.power, gpus);
  const auto state = [&](GpuQuantity quantity) {
    const auto& found = fleet.states[static_cast<std::size_t>(quantity)];
    return found && found->gpus == gpus ? found : std::nullopt;
  };
  if (const auto temperature = state(GpuQuantity::temperature_c)) {
    metrics.push_back({"avg_temp_c", kDecimals, temperature->mean});
    if (std::isfinite(temperature->peak)) {
      metrics.push_back({"peak_temp_c", kDecimals, temperature->peak});
    }
  }
  if (const auto utilization = state(GpuQuantity::utilization_pct)) {
    metrics.push_back({"avg_util_pct", kDecimals, utilization->mean});
  }
  if (const auto memory = state(GpuQuantity::memory_used_mb)) {
    metrics.push_back({"avg_mem_used_mb", kDecimals, memory->mean});
  }
  // They are extras: one that is too large for a number voids nothing.
  std::erase_if(metrics, [](const Metric& metric) { return !std::isfinite(metric.value); });
  return metrics;
}

std::vector<JsonEdit> dashboard_edits(const DashboardContent& content) {
  std::vector<JsonEdit> edits;
  std::vector<std::string> codes = content.reasons.codes();
  if (!codes.empty()) {
    if (codes.size() > kMostReasons) codes.resize(kMostReasons);
    edits.push_back({"power_invalid_reasons", text_of(codes)});
  }
  edits.push_back({"power_audit", text_of(audit_json(content.audit))});
  if (codes.empty() && !content.workers.empty()) {
    Json workers = Json::array();
    for (const Worker& worker : content.workers) workers.push_back(worker_json(worker));
    edits.push_back({"workers", text_of(workers)});
  }
  return edits;
}

void add_dashboard_keys(std::vector<JsonEdit>& edits, const DashboardContent& content) {
  for (JsonEdit& edit : dashboard_edits(content)) {
    std::erase_if(edits, [&](const JsonEdit& other) { return other.key == edit.key; });
    edits.push_back(std::move(edit));
  }
}

std::span<const char* const> dashboard_keys() { return kKeys; }

std::span<const char* const> cpu_metric_keys() { return std::span(kKeys).last(kCpuMetrics); }

WritePlan::Leftovers dashboard_leftovers() {
  return {"power_audit", {std::begin(kKeys), std::end(kKeys)}};
}

WritePlan::Leftovers cpu_leftovers() {
  WritePlan::Leftovers leftovers{"cpu_power_valid", {"cpu_power_valid"}};
  for (const char* const key : cpu_metric_keys()) leftovers.keys.emplace_back(key);
  return leftovers;
}

}  // namespace aggregate_power
