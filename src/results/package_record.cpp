// The audit record of a package as JSON.
#include "results/package_record.h"

#include "base/files/path.h"
#include "results/record.h"
#include "results/record_parts.h"

namespace aggregate_power {
namespace {

Json selected_window(const std::optional<PackageWindow>& window) {
  if (!window) return nullptr;
  return {{"window_file", window->file},
          {"result_path", window->result_path},
          {"benchmark_type", window->key.benchmark_type},
          {"concurrency", window->key.concurrency},
          {"start_time_unix", window->start_unix_s},
          {"end_time_unix", *window->end_unix_s},
          {"duration", *window->duration_s}};
}

Json computed_from(const PackageVerdict& verdict, const PackageRecord& record) {
  Json from = {{"tool_version", AGGREGATE_POWER_VERSION}};
  from["schema"] = verdict.samples_version == 0 ? Json() : Json("srt-slurm samples");
  from["samples_version"] = verdict.samples_version == 0 ? Json() : Json(verdict.samples_version);
  from["producer_rules"] =
      verdict.dialect ? Json(std::string(dialect_name(*verdict.dialect))) : Json();
  from["producer_pin"] = record.expected_producer_sha.empty() ? Json()
                         : record.is_pin_of_package           ? Json("package")
                                                              : Json("option");
  from["timezone"] = "UTC";
  from["timezone_source"] = "stamps";
  if (record.salvage) {
    Json salvaged = Json::object();
    for (const auto& [name, count] : verdict.salvaged) salvaged[name] = count;
    from["salvaged"] = std::move(salvaged);
  }
  if (!record.window_source.empty()) from["window_source"] = record.window_source;
  if (record.origin) add_origin(from, *record.origin);
  return from;
}

}  // namespace

std::string package_record_text(const PackageVerdict& verdict, const PackageRecord& record,
                                const Reasons& more) {
  Reasons reasons = verdict.reasons;
  reasons.add(more);
  std::vector<std::string> failures = verdict.failures;
  for (const Reasons::Entry& entry : more.entries()) {
    if (!entry.detail.empty()) failures.push_back(entry.detail);
  }
  JsonObject roles;
  for (const auto& [label, role] : verdict.roles) roles.set(label, role);
  JsonObject gaps;
  JsonObject energies;
  for (const PackageGpu& gpu : verdict.gpus) {
    gaps.set(gpu.label, gpu.max_sample_gap_s);
    energies.set(gpu.label, number_or_null(gpu.energy_j));
  }
  Json json;
  json["schema_version"] = 1;
  json["power_valid"] = reasons.empty();
  json["reasons"] = reasons.codes();
  json["failures"] = failures;
  json["telemetry_source"] = printable_path(record.telemetry_source);
  json["benchmark_result"] = printable_path(record.benchmark_result);
  json["benchmark_window"] = window_json(verdict.load);
  json["selected_window"] = selected_window(verdict.window);
  json["integration_method"] = kTrapezoidMethod;
  json["producer"] = {
      {"producer_git_commit", or_null(verdict.producer_git_commit)},
      {"expected_producer_git_commit",
       record.expected_producer_sha.empty() ? Json() : Json(record.expected_producer_sha)},
      {"exporter_image_sha256", or_null(verdict.exporter_image_sha256)},
      {"stored_publication_valid", or_null(verdict.stored_publication_valid)},
      {"recomputed_publication_valid", or_null(verdict.recomputed_publication_valid)}};
  json["expected_gpu_count"] = verdict.expected_gpus;
  json["observed_gpu_count"] = verdict.observed_gpus;
  json["per_gpu_role"] = std::move(roles).take();
  json["per_gpu_max_sample_gap_s"] = std::move(gaps).take();
  json["per_gpu_energy_j"] = std::move(energies).take();
  if (verdict.fleet) json["power_percentile_method"] = kPercentileMethod;
  json["metrics"] = metrics_json(reasons.empty() ? verdict.metrics : Metrics());
  if (verdict.cpu) json["cpu_power"] = cpu_power_json(*verdict.cpu);
  if (record.failed_requests) {
    json["failed_requests"] = failed_requests_json(*record.failed_requests, reasons.empty());
  }
  if (verdict.is_refused && !record.window_source.empty()) {
    json["window_source"] = record.window_source;
  }
  json["computed_from"] = computed_from(verdict, record);
  return record_text(json);
}

}  // namespace aggregate_power
