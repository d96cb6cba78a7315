// The keys of --extended.
#include "core/record/dashboard_keys.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/report/json_parts.h"
#include "base/text/json.h"
#include "core/energy/metrics.h"
#include "core/record/efficiency_json.h"
#include "core/record/record_numbers.h"

namespace aggregate_power {
namespace {

constexpr int kDecimals = 3;

// Limits: contract.md F.1, contract-october.md 1.9.
constexpr std::size_t kMostReasons = 32;
constexpr std::size_t kMostGpuIds = 1024;
constexpr std::size_t kLongestText = 128;  // characters
constexpr std::size_t kLongestCpuSource = 32;
constexpr std::size_t kLongestSource = 512;
constexpr std::uint64_t kLargestSafeInteger = (std::uint64_t{1} << 53) - 1;

constexpr std::string_view kCpuMetrics[] = {
    "avg_cpu_socket_power_w",   "avg_total_cpu_power_w",       "total_cpu_energy_j",
    "avg_total_module_power_w", "total_module_energy_j",       "avg_total_cpu_rail_power_w",
    "total_cpu_rail_energy_j",  "avg_total_cpu_sysio_power_w", "total_cpu_sysio_energy_j",
};

bool is_relative_source(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return !text.empty() && text.size() <= kLongestSource && text.front() != '/' &&
         text.find("..") == std::string_view::npos &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool fits(std::string_view text, std::size_t longest) {
  const auto characters = std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned>(c) & 0xC0U) != 0x80; });
  return !text.empty() && static_cast<std::size_t>(characters) <= longest;
}

Json first_reasons(const Reasons& reasons) {
  std::vector<std::string> codes = reasons.codes();
  if (codes.size() > kMostReasons) codes.resize(kMostReasons);
  return codes;
}

// Members of an object, each within its limit.
struct Members {
  void add(const char* key, std::optional<double> value) {
    if (value && std::isfinite(*value)) json[key] = *value;
  }
  void add_count(const char* key, std::optional<std::uint64_t> value) {
    if (value && *value <= kLargestSafeInteger) json[key] = *value;
  }
  void add_text(const char* key, const std::optional<std::string>& value,
                std::size_t longest = kLongestText) {
    if (value && fits(*value, longest)) json[key] = *value;
  }
  void add_rounded(const char* key, std::optional<double> value) {
    if (value) add(key, rounded(*value, kDecimals));
  }

  Json json = Json::object();
};

// In August, with null for what is not known.
Json august_cpu_json(const CpuPower& cpu) {
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

Json cpu_json(const CpuPower& cpu) {
  Members members;
  if (cpu.sensor) members.json["sensor_kind"] = name(*cpu.sensor);
  members.add_text("source", cpu.source, kLongestCpuSource);
  members.add_count("expected_sockets", cpu.expected_sockets);
  members.add_count("observed_sockets", cpu.observed_sockets);
  members.add_count("sample_row_count", cpu.rows);
  members.json["reason_codes"] = first_reasons(cpu.reasons);
  return std::move(members.json);
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

// The samples of the fleet near the window; in August, those in the window. A package's samples are
// not counted by GPU.
std::optional<std::uint64_t> sample_count(const Result& result) {
  if (!rules_of(result.contract).has_full_audit) {
    return result.fleet ? std::optional(result.fleet->samples_in_window) : std::nullopt;
  }
  if (result.package || result.gpus.empty()) return std::nullopt;
  return summed<std::uint64_t>(result.gpus,
                               [](const GpuResult& gpu) { return gpu.energy.samples; });
}

Json ids_json(const Result& result) {
  std::vector<std::string> ids = result.observed_gpu_ids;
  if (result.package && rules_of(result.contract).has_full_audit) {
    ids.clear();
    for (const auto& [gpu, role] : result.roles) ids.push_back(gpu);
  }
  Json json = Json::array();
  std::set<std::string> met;
  for (const std::string& id : ids) {
    if (fits(id, kLongestText) && met.insert(id).second && json.size() < kMostGpuIds) {
      json.push_back(id);
    }
  }
  return json;
}

// What is known about a run, valid or not; unknown values are left out.
Json audit_json(const Result& result, const std::string& record_name) {
  const bool is_full = rules_of(result.contract).has_full_audit;
  Members members;
  if (result.is_audit_requested || is_relative_source(record_name))
    members.json["source"] = record_name;
  if (result.package && result.package->is_refused && is_full) return std::move(members.json);
  if (result.load) {
    const Window& window = result.load->window;
    if (window.start_unix_s >= 0) members.add("window_start_unix", window.start_unix_s);
    if (window.end_unix_s >= 0) members.add("window_end_unix", window.end_unix_s);
  }
  if (const auto expected = expected_gpus(result); expected && *expected >= 0) {
    members.add_count("expected_gpu_count", static_cast<std::uint64_t>(*expected));
  }
  if (result.fleet || is_full) members.add_count("observed_gpu_count", result.observed_gpus);
  members.add_count("sample_count", sample_count(result));
  members.add("max_sample_gap_s", max_sample_gap_s(result));
  if (result.package) {
    members.add_text("producer_sha", result.package->producer_git_commit);
    members.add_text("exporter_image_sha256", result.package->exporter_image_sha256);
  }
  if (result.native) members.add_text("producer_sha", result.native->revision());
  if (Json ids = ids_json(result); !ids.empty()) members.json["observed_gpu_ids"] = std::move(ids);
  if (result.cpu) {
    members.json["cpu"] = is_full ? cpu_json(*result.cpu) : august_cpu_json(*result.cpu);
  }
  return std::move(members.json);
}

void set_member(std::vector<JsonEdit>& edits, const char* key, const Json& value) {
  std::erase_if(edits, [&](const JsonEdit& edit) { return edit.key == key; });
  edits.push_back({key, line_text(value)});
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

void add_audit_keys(std::vector<JsonEdit>& edits, const Result& result,
                    const std::string& record_name) {
  const Json reasons = first_reasons(result.reasons);
  if (!reasons.empty() || rules_of(result.contract).has_full_audit) {
    set_member(edits, "power_invalid_reasons", reasons);
  }
  set_member(edits, "power_audit", audit_json(result, record_name));
}

void add_dashboard_keys(std::vector<JsonEdit>& edits, const Result& result) {
  if (result.is_valid() && !result.workers.empty()) {
    Json workers = list_of(result.workers, worker_json);
    set_member(edits, "workers", workers);
  }
  append(edits, results::efficiency_edits(result));
  append(edits, uncertainty_edits(result));
  append(edits, idle_edits(result));
}

std::vector<std::string_view> dashboard_keys() {
  std::vector<std::string_view> keys = dashboard_metric_keys();
  keys.insert(keys.end(), {"power_audit", "workers", "cpu_power_valid"});
  append(keys, kCpuMetrics);
  append(keys, uncertainty_keys());
  append(keys, idle_keys());
  append(keys, results::efficiency_keys());
  return keys;
}

std::span<const std::string_view> cpu_metric_keys() { return kCpuMetrics; }

}  // namespace aggregate_power
