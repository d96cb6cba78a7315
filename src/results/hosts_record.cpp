// The audit record of a run on several hosts as JSON.
#include "results/hosts_record.h"

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/unicode.h"
#include "results/dashboard_keys.h"
#include "results/record_parts.h"

namespace aggregate_power {
namespace {

// Maps by GPU and by host. Their names are unique, and looking for each among the others would be
// quadratic.
using Members = Json::object_t;

std::string key_of(const RecordedGpu& gpu, bool with_uuid) {
  return printable_path(gpu.host) + "/" + (with_uuid && !gpu.uuid.empty() ? gpu.uuid : gpu.id);
}

// A UUID that two GPUs claim names neither.
bool names_have_uuids(const HostsContent& content) {
  return !content.reasons.contains(Reason::gpu_uuid_repeated);
}

// "hostB: sampling_gap_exceeded: GPU 3: 4.2 s, at most 3 s"; then what concerns no host alone.
Json failures_of(const Reasons& reasons, std::span<const HostFinding> hosts) {
  Json failures = Json::array();
  const auto add = [&](const std::string& host, const Reasons::Entry& entry) {
    failures.push_back(fmt::format("{}{}{}{}{}", host, host.empty() ? "" : ": ", code(entry.reason),
                                   entry.detail.empty() ? "" : ": ", entry.detail));
  };
  Reasons of_hosts;
  for (const HostFinding& host : hosts) {
    for (const Reasons::Entry& entry : host.reasons.entries())
      add(printable_path(host.host), entry);
    of_hosts.add(host.reasons);
  }
  for (const Reasons::Entry& entry : reasons.entries()) {
    if (!of_hosts.contains(entry.reason)) add("", entry);
  }
  return failures;
}

void add_gpus(Json& record, const HostsContent& content, std::span<const HostFinding> hosts) {
  Members roles;
  Members samples;
  Members gaps;
  Members energies;
  Members issues;
  Members boundary_rows;
  std::size_t place = 0;
  const std::vector<std::string> names = gpu_names(content, hosts);
  for (const HostFinding& host : hosts) {
    for (std::size_t i = 0; i < host.gpus.size(); ++i, ++place) {
      const std::string& key = names[place];
      const DeviceEnergy& gpu = host.integration.gpus[i];
      if (!content.roles.empty()) roles.push_back({key, role_name(content.roles[place])});
      samples.push_back({key, gpu.samples});
      if (gpu.bracketed) {
        gaps.push_back({key, gpu.max_sample_gap_s});
        energies.push_back({key, number_or_null(gpu.energy_j)});
      }
      if (const auto issue = host.integration.issues[i]) {
        issues.push_back({key, Json::array({code(*issue)})});
      }
    }
    for (const auto& [gpu, rows] : host.boundary_degenerate_rows) {
      boundary_rows.push_back({key_of(gpu, names_have_uuids(content)), rows});
    }
  }
  record["expected_gpu_count"] =
      content.expected_num_gpus ? Json(*content.expected_num_gpus) : Json(nullptr);
  record["observed_gpu_count"] = place;
  record["per_gpu_role"] = std::move(roles);
  record["per_gpu_sample_counts"] = std::move(samples);
  record["per_gpu_max_sample_gap_s"] = std::move(gaps);
  record["per_gpu_energy_j"] = std::move(energies);
  record["device_issues"] = std::move(issues);
  record["boundary_degenerate_rows"] = std::move(boundary_rows);
}

Json found_of(const HostFinding& host) {
  Members uuids;
  for (const RecordedGpu& gpu : host.gpus) uuids.push_back({gpu.id, text_or_null(gpu.uuid)});
  return {{"reasons", host.reasons.codes()},
          {"observed_gpu_count", host.gpus.size()},
          {"gpu_uuids", std::move(uuids)}};
}

Json estimate_of(const HostFinding& host) {
  if (!host.clock_estimate) return nullptr;
  return {{"offset_s", host.clock_estimate->offset_s},
          {"uncertainty_s", host.clock_estimate->uncertainty_s}};
}

Json origin_of(const HostFinding& host) {
  Json origin = {{"telemetry", printable_path(host.csv)},
                 {"identity", text_or_null(printable_path(host.identity_file))},
                 {"clock_offset_s", host.clock_offset_s}};
  add_telemetry_facts(origin, host.telemetry);
  return origin;
}

Json by_host(std::span<const HostFinding> hosts, Json (*what)(const HostFinding&)) {
  Members members;
  for (const HostFinding& host : hosts) members.push_back({printable_path(host.host), what(host)});
  return members;
}

}  // namespace

std::vector<std::string> gpu_names(const HostsContent& content,
                                   std::span<const HostFinding> hosts) {
  const bool with_uuid = names_have_uuids(content);
  std::vector<std::string> names;
  for (const HostFinding& host : hosts) {
    for (const RecordedGpu& gpu : host.gpus) names.push_back(key_of(gpu, with_uuid));
  }
  return names;
}

std::string hosts_record_text(const HostsContent& content, std::span<const HostFinding> hosts) {
  const bool valid = content.reasons.empty();
  Json record;
  record["schema_version"] = 1;
  record["power_valid"] = valid;
  record["reasons"] = content.reasons.codes();
  record["failures"] = failures_of(content.reasons, hosts);
  record["telemetry_source"] = printable_path(content.telemetry_source);
  record["benchmark_result"] = printable_path(content.benchmark_result);
  record["benchmark_window"] = window_json(content.load);
  record["integration_method"] = kTrapezoidMethod;
  add_gpus(record, content, hosts);
  record["hosts"] = by_host(hosts, found_of);
  record["clock_offset_estimates"] = by_host(hosts, estimate_of);
  if (content.extended) record["power_percentile_method"] = kPercentileMethod;
  record["metrics"] = metrics_json(valid ? content.metrics : Metrics());
  record["computed_from"] = {{"tool_version", AGGREGATE_POWER_VERSION},
                             {"hosts", by_host(hosts, origin_of)}};
  return record_text(record);
}

}  // namespace aggregate_power
