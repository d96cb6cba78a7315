// The CPU power of a package of several nodes.
#include "packages/cpu_power.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/files/file.h"
#include "results/record_parts.h"

namespace aggregate_power {
namespace {

// The recorder's own word on its run; it only has to be there.
void check_manifest(const Tree& tree, const std::string& path, Reasons& reasons) {
  try {
    const auto source = tree.open(path).source();
    const JsonDocument document = scan_json(*source, [](const JsonMember&) {});
    if (document.kind != JsonKind::object) {
      reasons.add(Reason::cpu_manifest_invalid, path + ": expected an object");
    }
  } catch (const JsonError& error) {
    reasons.add(Reason::cpu_manifest_invalid, path + ':' + error.what());
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_manifest_invalid, error.what());
  }
}

void read_samples(const Tree& tree, const std::string& path, CpuPowerGatherer& gatherer,
                  Reasons& reasons) {
  if (!tree.find_file(path)) {
    reasons.add(Reason::cpu_samples_missing, path);
    return;
  }
  try {
    const auto source = tree.open(path).source();
    const auto take = [&](const CpuSample& sample) { gatherer.take(sample); };
    const Reasons found = read_cpu_samples(*source, take);
    for (const Reasons::Entry& entry : found.entries()) {
      reasons.add(entry.reason, path + ": " + entry.detail);
    }
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_samples_malformed, error.what());
  }
}

Json object_of(const std::vector<std::pair<std::string, double>>& values) {
  Json::object_t object;
  for (const auto& [key, value] : values) {
    object.push_back({key, number_or_null(value)});
  }
  return object;
}

}  // namespace

std::optional<CpuPower> measure_cpu_power(const Tree& tree, const std::string& folder,
                                          const CpuPowerRequest& request) {
  if (!tree.has_folder(folder)) {
    if (!request.expected_source) return std::nullopt;
    CpuPower nothing;
    nothing.reasons.add(Reason::cpu_artifacts_missing, folder);
    return nothing;
  }
  Reasons faults;
  CpuPowerGatherer gatherer;
  check_manifest(tree, folder + "/cpu_manifest.json", faults);
  read_samples(tree, folder + "/samples.csv", gatherer, faults);
  return gatherer.finish(request, faults);
}

Json cpu_power_json(const CpuPower& power) {
  std::optional<std::string_view> sensor;
  if (power.sensor) sensor = name(*power.sensor);
  return {
      {"cpu_power_valid", power.reasons.empty()},
      {"reason_codes", power.reasons.codes()},
      {"sensor_kind", or_null(sensor)},
      {"source", or_null(power.source)},
      {"sockets_per_host", kSocketsPerHost},
      {"expected_sockets", power.expected_sockets},
      {"observed_sockets", power.observed_sockets},
      {"sample_row_count", power.rows},
      {"headline_preference",
       {name(CpuSensor::module), name(CpuSensor::grace_socket), name(CpuSensor::dcgm_cpu_rail)}},
      {"integration_method", "per_socket_trapezoidal_with_linear_boundary_interpolation"},
      {"max_sample_gap_seconds", kMaxCpuSampleGapS},
      {"per_series_max_sample_gap_s", object_of(power.max_sample_gap_s)},
      {"per_series_energy_j", object_of(power.energy_j)},
      {"metrics", metrics_json(power.metrics)}};
}

CpuAudit cpu_audit(const CpuPower& power) {
  CpuAudit audit;
  if (power.sensor) audit.sensor_kind = name(*power.sensor);
  audit.source = power.source;
  audit.expected_sockets = power.expected_sockets;
  audit.observed_sockets = power.observed_sockets;
  audit.reason_codes = power.reasons.codes();
  return audit;
}

std::vector<JsonEdit> cpu_power_edits(const CpuPower& power) {
  std::vector<JsonEdit> edits = {{"cpu_power_valid", power.reasons.empty() ? "1" : "0"}};
  for (const Metric& metric : power.metrics) {
    edits.push_back({std::string(metric.key), json_number(rounded(metric.value, metric.decimals))});
  }
  for (const char* const key : cpu_metric_keys()) {
    if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) edits.push_back({key, ""});
  }
  return edits;
}

}  // namespace aggregate_power
