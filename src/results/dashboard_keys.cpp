// The keys of --extended.
#include "results/dashboard_keys.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "energy/metrics.h"

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

constexpr std::string_view kCpuMetrics[] = {
    "avg_cpu_socket_power_w",   "avg_total_cpu_power_w",       "total_cpu_energy_j",
    "avg_total_module_power_w", "total_module_energy_j",       "avg_total_cpu_rail_power_w",
    "total_cpu_rail_energy_j",  "avg_total_cpu_sysio_power_w", "total_cpu_sysio_energy_j",
};

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

Json cpu_json(const CpuPower& cpu) {
  const auto or_null = [](const std::optional<std::string>& text) {
    return text && text->size() <= kLongestText ? Json(*text) : Json(nullptr);
  };
  std::optional<std::string> sensor;
  if (cpu.sensor) sensor = name(*cpu.sensor);
  return {{"sensor_kind", or_null(sensor)},
          {"source", or_null(cpu.source)},
          {"expected_sockets", cpu.expected_sockets},
          {"observed_sockets", cpu.observed_sockets},
          {"reason_codes", cpu.reasons.codes()}};
}

// If a package's manifest could not be read, the number asked for is all that is known.
std::optional<std::int64_t> expected_gpus(const Result& result) {
  if (!result.package || result.expected_gpus.value_or(0) > 0) return result.expected_gpus;
  return static_cast<std::int64_t>(result.package->asked_gpus);
}

// The longest gap found at the window.
std::optional<double> max_sample_gap_s(const Result& result) {
  std::optional<double> longest_s;
  for (const GpuResult& gpu : result.gpus) {
    if (!gpu.energy.bracketed) continue;
    longest_s = std::max(longest_s.value_or(0), gpu.energy.max_sample_gap_s);
  }
  return longest_s;
}

Json ids_json(const std::vector<std::string>& ids) {
  Json json = Json::array();
  for (const std::string& id : ids) {
    if (id.size() <= kLongestText && json.size() < kMostGpuIds) json.push_back(id);
  }
  return json;
}

// What is known about a run, valid or not; unknown values are left out.
Json audit_json(const Result& result, const std::string& record_name) {
  Members members;
  if (result.load) {
    members.add("window_start_unix", result.load->window.start_unix_s);
    members.add("window_end_unix", result.load->window.end_unix_s);
  }
  if (const auto expected = expected_gpus(result); expected && *expected >= 0) {
    members.add_count("expected_gpu_count", static_cast<std::uint64_t>(*expected));
  }
  if (result.fleet) {
    members.add_count("observed_gpu_count", result.observed_gpus);
    members.add_count("sample_count", result.fleet->samples_in_window);
  }
  members.add("max_sample_gap_s", max_sample_gap_s(result));
  if (is_relative_source(record_name)) members.json["source"] = record_name;
  if (!result.observed_gpu_ids.empty()) {
    members.json["observed_gpu_ids"] = ids_json(result.observed_gpu_ids);
  }
  if (result.package) {
    members.add_text("producer_sha", result.package->producer_git_commit);
    members.add_text("exporter_image_sha256", result.package->exporter_image_sha256);
  }
  if (result.native) members.add_text("producer_sha", result.native->revision());
  if (result.cpu) members.json["cpu"] = cpu_json(*result.cpu);
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

void add_dashboard_keys(std::vector<JsonEdit>& edits, const Result& result,
                        const std::string& record_name) {
  const auto set = [&](const char* key, const Json& value) {
    std::erase_if(edits, [&](const JsonEdit& edit) { return edit.key == key; });
    edits.push_back({key, text_of(value)});
  };
  std::vector<std::string> codes = result.reasons.codes();
  if (!codes.empty()) {
    if (codes.size() > kMostReasons) codes.resize(kMostReasons);
    set("power_invalid_reasons", codes);
  }
  set("power_audit", audit_json(result, record_name));
  if (codes.empty() && !result.workers.empty()) {
    Json workers = Json::array();
    for (const Worker& worker : result.workers) workers.push_back(worker_json(worker));
    set("workers", workers);
  }
}

std::vector<std::string_view> dashboard_keys() {
  std::vector<std::string_view> keys = dashboard_metric_keys();
  keys.insert(keys.end(), {"power_audit", "workers", "cpu_power_valid"});
  std::ranges::copy(kCpuMetrics, std::back_inserter(keys));
  return keys;
}

std::span<const std::string_view> cpu_metric_keys() { return kCpuMetrics; }

}  // namespace aggregate_power
