// The edits of the aggregate, from a result.
#include "core/record/edits.h"

#include <algorithm>
#include <iterator>

#include "base/text/json.h"
#include "core/energy/metrics.h"
#include "core/record/dashboard_keys.h"
#include "core/record/record_write.h"
#include "core/record/salvage_json.h"

namespace aggregate_power {
namespace {

std::vector<JsonEdit> metric_edits(const Metrics& metrics) {
  std::vector<JsonEdit> edits;
  for (const Metric& metric : metrics) {
    edits.push_back({std::string(metric.key), json_number(rounded(metric.value, metric.decimals))});
  }
  return edits;
}

// Removes the keys in `keys` that are not set.
template <typename Keys>
void remove_others(std::vector<JsonEdit>& edits, const Keys& keys) {
  for (const std::string_view key : keys) {
    if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) {
      edits.push_back({std::string(key), ""});
    }
  }
}

std::vector<JsonEdit> gpu_edits(bool is_valid, const Metrics& metrics) {
  std::vector<JsonEdit> edits = {{"power_metric_schema_version", "2"},
                                 {kPowerValid, is_valid ? "1" : "0"},
                                 {"power_invalid_reasons", ""}};
  if (is_valid) std::ranges::move(metric_edits(metrics), std::back_inserter(edits));
  remove_others(edits, all_metric_keys());
  return edits;
}

std::vector<JsonEdit> cpu_edits(bool is_valid, const Metrics& metrics) {
  std::vector<JsonEdit> edits = {{"cpu_power_valid", is_valid ? "1" : "0"}};
  std::ranges::move(metric_edits(metrics), std::back_inserter(edits));
  remove_others(edits, cpu_metric_keys());
  return edits;
}

std::vector<std::string> keys_of(const std::vector<JsonEdit>& edits) {
  std::vector<std::string> keys;
  for (const JsonEdit& edit : edits) keys.push_back(edit.key);
  return keys;
}

WritePlan::Leftovers of_dashboard() {
  const auto keys = dashboard_keys();
  return {"power_audit", {keys.begin(), keys.end()}};
}

// Alone they are no sign of ours, but with the version they are a run's of schema 2.
WritePlan::Leftovers of_percentiles() {
  const auto keys = percentile_keys();
  return {"power_metric_schema_version", {keys.begin(), keys.end()}};
}

WritePlan::Leftovers of_salvage() {
  const auto keys = results::salvage_keys();
  return {std::string(keys.front()), {keys.begin(), keys.end()}};
}

WritePlan::Leftovers of_cpus() { return {"cpu_power_valid", keys_of(cpu_edits(false, {}))}; }

// Schema 1 has no verdict, so that what a run of schema 2 claimed would stay as if it was of this
// run.
std::vector<WritePlan::Leftovers> of_schema_2() {
  std::vector<WritePlan::Leftovers> all = {
      {"power_metric_schema_version", keys_of(gpu_edits(false, {}))}, of_dashboard(), of_cpus()};
  all.front().sign_text = "2";
  for (WritePlan::Leftovers& some : all) some.are_alone = true;
  return all;
}

}  // namespace

std::vector<JsonEdit> edits_of(const Result& result, const std::string& record_name) {
  if (result.way == Way::sample_mean) {
    return result.is_valid() ? metric_edits(result.metrics) : std::vector<JsonEdit>();
  }
  if (result.reasons.contains(Reason::aggregate_result_unwritable)) return {};
  std::vector<JsonEdit> edits = gpu_edits(result.is_valid(), result.metrics);
  if (result.cpu && has_cpus(result.keys)) {
    std::ranges::move(cpu_edits(result.cpu->reasons.empty(), result.cpu->metrics),
                      std::back_inserter(edits));
  }
  if (has_salvage(result.keys)) {
    std::ranges::move(results::salvage_edits(result), std::back_inserter(edits));
  }
  if (has_audit(result.keys) || result.is_audit_requested) {
    add_audit_keys(edits, result, record_name);
  }
  if (result.keys == RowKeys::all) add_dashboard_keys(edits, result);
  return edits;
}

std::vector<JsonEdit> edits_without_record(const Result& result) {
  if (result.way == Way::sample_mean) return {};
  std::vector<JsonEdit> edits = gpu_edits(false, {});
  if (result.cpu && has_cpus(result.keys)) {
    std::ranges::move(cpu_edits(false, {}), std::back_inserter(edits));
  }
  return edits;
}

std::vector<JsonEdit> edits_of_withdrawn(bool has_cpu) {
  std::vector<JsonEdit> edits = gpu_edits(false, {});
  if (has_cpu) std::ranges::move(cpu_edits(false, {}), std::back_inserter(edits));
  return edits;
}

bool claims_power(const Result& result) {
  return result.is_valid() || (result.cpu && result.cpu->reasons.empty());
}

std::vector<WritePlan::Leftovers> leftovers_of(Way way) {
  if (way == Way::sample_mean) return of_schema_2();
  if (way == Way::one_node) return {of_dashboard(), of_percentiles(), of_salvage()};
  return {of_dashboard(), of_percentiles(), of_salvage(), of_cpus()};
}

bool is_our_key(std::string_view key) {
  static const std::vector<JsonEdit> all = gpu_edits(false, {});
  static const std::vector<std::string_view> dashboards = dashboard_keys();
  static const std::vector<std::string_view> salvaged = results::salvage_keys();
  return std::ranges::find(all, key, &JsonEdit::key) != all.end() ||
         std::ranges::find(salvaged, key) != salvaged.end() ||
         std::ranges::find(dashboards, key) != dashboards.end();
}

}  // namespace aggregate_power
