// Compares metrics within the tolerances of the consumer's audits, contract.md F.3.
#include "verify/run/metrics.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/metric.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/energy/metrics.h"
#include "core/record/dashboard_keys.h"
#include "verify/sweep/sweep.h"

namespace aggregate_power {
namespace {

constexpr double kPowerTolerance = 0.000501;
constexpr double kRatioTolerance = 0.000000501;
constexpr double kRecordTolerance = 0.000002;
constexpr std::size_t kMostMetrics = 1000;  // comparing takes the square of their number

using NamedValues = std::vector<JsonValue::Member>;

// The metrics that are power or energy: a temperature of the aggregate may come from elsewhere.
std::vector<std::string_view> power_keys() {
  std::vector<std::string_view> keys = all_metric_keys();
  for (const std::string_view key : dashboard_metric_keys()) {
    if (key.ends_with("_w")) keys.push_back(key);
  }
  append(keys, cpu_metric_keys());
  return keys;
}

// The metrics of the GPUs, then those of CPUs that are valid.
NamedValues recorded_metrics(const JsonValue& record) {
  NamedValues metrics = record.at("metrics").members;
  if (record.at("cpu").at("cpu_power_valid").is_true()) {
    const NamedValues& of_cpus = record.at("cpu").at("metrics").members;
    append(metrics, of_cpus);
  }
  return metrics;
}

// A ratio of the record's own numbers against the aggregate; F.3's audit of estimated energy.
void compare_ratio(const PointEvidence& found, const char* key, double count, PointFaults& faults) {
  const JsonValue& energy = found.record.at("metrics").at("total_gpu_energy_j");
  const JsonValue& published = found.aggregate.at(key);
  if (!energy.is_finite_number() || !published.is_finite_number() || count <= 0) return;
  const double expected = energy.as_double() / count;
  if (std::fabs(expected - published.as_double()) <= kRatioTolerance) return;
  faults.add(
      fmt::format("'{}' of the aggregate, against energy and counts of the audit record", key),
      json_number(rounded(expected, kAuditDecimals)), published.shown());
}

void compare_record_with_itself(const PointEvidence& found, PointFaults& faults) {
  const JsonValue& metrics = found.record.at("metrics");
  const JsonValue& window = found.record.at("benchmark_window");
  const JsonValue& energy = metrics.at("total_gpu_energy_j");
  const JsonValue& power = metrics.at("avg_total_gpu_power_w");
  const double duration_s =
      window.at("end_time_unix").as_double() - window.at("start_time_unix").as_double();
  if (energy.is_finite_number() && power.is_finite_number() && duration_s > 0) {
    const double expected = energy.as_double() / duration_s;
    if (!(std::fabs(expected - power.as_double()) <= kRecordTolerance)) {
      faults.add("'avg_total_gpu_power_w' of the audit record, against its energy and window",
                 json_number(rounded(expected, kAuditDecimals)), power.shown());
    }
  }
  const auto count = [&](const char* key) {
    const JsonValue& value = window.at(key);
    return value.is_finite_number() ? value.as_double() : 0;
  };
  const double input = count("total_input_tokens");
  const double output = count("total_output_tokens");
  compare_ratio(found, "joules_per_successful_query", count("completed"), faults);
  compare_ratio(found, "joules_per_input_token", input, faults);
  compare_ratio(found, "joules_per_output_token", output, faults);
  compare_ratio(found, "joules_per_total_token", input > 0 && output > 0 ? input + output : 0,
                faults);
}

// One number of the record against the recomputed one.
struct Comparison {
  std::string what;
  const JsonValue& recorded;
  double recomputed;
  double tolerance;
};

// Equal after rounding; otherwise within the tolerance, which is noted, or a fault.
void compare_recomputed(const Comparison& comparison, const PointEvidence& found,
                        PointFaults& faults, std::vector<std::string>& notes) {
  const double recomputed = rounded(comparison.recomputed, kAuditDecimals);
  const double recorded =
      comparison.recorded.is_number() ? comparison.recorded.as_double() : std::nan("");
  if (rounded(recorded, kAuditDecimals) == recomputed) return;
  if (std::fabs(recorded - comparison.recomputed) <= comparison.tolerance) {
    notes.push_back(fmt::format("{}: {} differs within its tolerance: recomputed {}, recorded {}",
                                found.record_path, comparison.what, json_number(recomputed),
                                comparison.recorded.shown()));
  } else {
    faults.add(
        fmt::format("{} of the audit record, recomputed from {}", comparison.what, found.place),
        json_number(recomputed), comparison.recorded.shown());
  }
}

bool is_cpu_metric(std::string_view key) {
  return std::ranges::find(cpu_metric_keys(), key) != cpu_metric_keys().end();
}

// Aggregate workers are "agg" in packages.
std::string_view role_word(std::string_view role) { return role == "agg" ? "aggregate" : role; }

void compare_roles(const std::vector<std::pair<std::string, std::string>>& roles,
                   const PointEvidence& found, PointFaults& faults) {
  for (const auto& [gpu, role] : roles) {
    const JsonValue& recorded = found.record.at("per_gpu_role").at(gpu);
    if (recorded.is_string() && role_word(recorded.text) == role_word(role)) continue;
    faults.add(fmt::format("the role of GPU {} of the audit record, recomputed from {}",
                           printable(gpu, 200), found.place),
               std::string(role_word(role)),
               recorded.is_string() ? printable(recorded.text) : recorded.shown());
  }
}

std::optional<double> find_value(const std::vector<std::pair<std::string, double>>& values,
                                 const std::string& key) {
  const auto value = std::ranges::find(values, key, &std::pair<std::string, double>::first);
  return value == values.end() ? std::nullopt : std::optional(value->second);
}

}  // namespace

double metric_tolerance(std::string_view key) {
  return key.find("joules_per_") == std::string_view::npos ? kPowerTolerance : kRatioTolerance;
}

void compare_metrics(const PointEvidence& found, PointFaults& faults) {
  faults.begin(11);
  const NamedValues recorded = recorded_metrics(found.record);
  if (recorded.size() > kMostMetrics) {
    faults.add(
        fmt::format("the audit record has {} metrics, more than there are", recorded.size()));
    return;
  }
  for (const auto& [key, value] : recorded) {
    const JsonValue& published = found.aggregate.at(key);
    const bool is_same =
        value.is_finite_number() && published.is_finite_number() &&
        std::fabs(published.as_double() - value.as_double()) <= metric_tolerance(key);
    if (is_same) continue;
    faults.add(fmt::format("'{}' of the aggregate, against the audit record", printable(key)),
               value.shown(), published.shown());
  }
  for (const std::string_view key : power_keys()) {
    const JsonValue* const published = found.aggregate.find(key);
    const bool is_recorded =
        std::ranges::find(recorded, key, &JsonValue::Member::first) != recorded.end();
    if (published == nullptr || is_recorded) continue;
    faults.add(fmt::format("'{}' of the aggregate, against the audit record", key), "none",
               published->shown());
  }
  compare_record_with_itself(found, faults);
}

std::vector<std::string> check_recomputed_metrics(const Evidence& evidence,
                                                  const RequiredPoint& required,
                                                  const PointEvidence& found, SharedSamples& shared,
                                                  PointFaults& faults) {
  faults.begin(12);
  RecomputedPoint now = recompute_point(evidence, required, found, shared);
  for (auto& [what, expected, recorded] : now.faults) {
    faults.add(std::move(what), std::move(expected), std::move(recorded));
  }
  if (!now.refusal.empty()) {
    faults.add(
        fmt::format("recomputed from {}, its power is not valid: {}", found.place, now.refusal));
  }
  std::vector<std::string> notes = std::move(now.notes);
  compare_roles(now.gpu_roles, found, faults);
  if (now.gpu_energies_j.empty()) {
    if (now.refusal.empty()) {
      faults.add(fmt::format("recomputed from {}, it has no energy of a GPU", found.place));
    }
    return notes;
  }
  for (const auto& [key, recorded] : recorded_metrics(found.record)) {
    const auto value = find_value(now.metrics, key);
    if (!value && now.lacks_cpus && is_cpu_metric(key)) {
      notes.push_back(fmt::format("{}: '{}' could not be recomputed", found.record_path, key));
      continue;
    }
    if (!value) {
      faults.add(
          fmt::format("'{}' of the audit record, recomputed from {}", printable(key), found.place),
          "none", recorded.shown());
      continue;
    }
    compare_recomputed({fmt::format("'{}'", key), recorded, *value, metric_tolerance(key)}, found,
                       faults, notes);
  }
  const JsonValue& energies = found.record.at("per_gpu_energy_j");
  for (const auto& [gpu, energy_j] : now.gpu_energies_j) {
    compare_recomputed({fmt::format("the energy of GPU {}", printable(gpu, 200)), energies.at(gpu),
                        energy_j, kPowerTolerance},
                       found, faults, notes);
  }
  for (const JsonValue::Member& gpu : energies.members) {
    if (find_value(now.gpu_energies_j, gpu.first)) continue;
    faults.add(fmt::format("the energy of GPU {} of the audit record, recomputed from {}",
                           printable(gpu.first, 200), found.place),
               "none", gpu.second.shown());
  }
  return notes;
}

void check_samples_digest(const Evidence& evidence, const PointEvidence& found,
                          PointFaults& faults) {
  faults.begin(13);
  if (found.telemetry != TelemetryKind::package) return;
  const std::string manifest = join_path(found.place, "manifest.json");
  const JsonValue package = evidence.json(manifest);
  const JsonValue* const stated = package.find("samples_sha256");
  if (stated == nullptr) return;
  const std::string actual = evidence.sha256(join_path(found.place, "samples.csv"));
  if (stated->is_string() && stated->text == actual) return;
  faults.add_at(
      manifest, "'samples_sha256'",
      stated->is_string() && is_lower_hex(stated->text, 64) ? stated->text : stated->shown(),
      actual);
}

}  // namespace aggregate_power
