// The edits of the aggregate, from a result.
#include "core/record/edits.h"

#include <algorithm>
#include <utility>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/json.h"
#include "base/text/json_value.h"
#include "core/energy/metrics.h"
#include "core/record/aggregate.h"
#include "core/record/dashboard_keys.h"
#include "core/record/record_read.h"
#include "core/record/record_write.h"
#include "core/record/request_json.h"
#include "core/record/salvage_json.h"
#include "core/record/withdrawal.h"

namespace aggregate_power {
namespace {

std::vector<JsonEdit> metric_edits(const Metrics& metrics) {
  return mapped(metrics, [](const Metric& metric) {
    return JsonEdit{std::string(metric.key), json_number(rounded(metric.value, metric.decimals))};
  });
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
  if (is_valid) append(edits, metric_edits(metrics));
  remove_others(edits, all_metric_keys());
  return edits;
}

std::vector<JsonEdit> cpu_edits(bool is_valid, const Metrics& metrics) {
  std::vector<JsonEdit> edits = {{"cpu_power_valid", is_valid ? "1" : "0"}};
  append(edits, metric_edits(metrics));
  remove_others(edits, cpu_metric_keys());
  return edits;
}

std::vector<std::string> keys_of(const std::vector<JsonEdit>& edits) {
  return mapped<std::string>(edits, &JsonEdit::key);
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

// Without joules, the keys of an evaluation may be a user's own, and stay.
void add_good_work(std::vector<WritePlan::Leftovers>& all) {
  for (const auto& keys : good_work_keys()) {
    all.push_back({std::string(keys.front()), {keys.begin(), keys.end()}});
  }
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

// Whether edits_of() claims that some power is valid.
bool claims_power(const Result& result) {
  return result.is_valid() || (result.cpu && result.cpu->reasons.empty());
}

// The edits if there is no audit record to support them: nothing is claimed.
std::vector<JsonEdit> edits_without_record(const Result& result) {
  if (result.way == Way::sample_mean) return {};
  std::vector<JsonEdit> edits = gpu_edits(false, {});
  if (result.cpu && has_cpus(result.keys)) {
    append(edits, cpu_edits(false, {}));
  }
  return edits;
}

}  // namespace

std::vector<JsonEdit> edits_of(const Result& result, const std::string& record_name) {
  if (result.way == Way::sample_mean) {
    return result.is_valid() ? metric_edits(result.metrics) : std::vector<JsonEdit>();
  }
  if (result.reasons.contains(Reason::aggregate_result_unwritable)) return {};
  std::vector<JsonEdit> edits = gpu_edits(result.is_valid(), result.metrics);
  if (result.cpu && has_cpus(result.keys)) {
    append(edits, cpu_edits(result.cpu->reasons.empty(), result.cpu->metrics));
  }
  if (has_salvage(result.keys)) {
    append(edits, results::salvage_edits(result));
  }
  if (has_audit(result.keys) || result.is_audit_requested) {
    add_audit_keys(edits, result, record_name);
  }
  if (result.keys == RowKeys::all) add_dashboard_keys(edits, result);
  append(edits, good_work_edits(result));
  return edits;
}

std::vector<JsonEdit> edits_of_withdrawn(bool has_cpu) {
  std::vector<JsonEdit> edits = gpu_edits(false, {});
  if (has_cpu) append(edits, cpu_edits(false, {}));
  return edits;
}

std::vector<WritePlan::Leftovers> leftovers_of(Way way) {
  if (way == Way::sample_mean) return of_schema_2();
  std::vector<WritePlan::Leftovers> all = {of_dashboard(), of_percentiles(), of_salvage()};
  if (way != Way::one_node) all.push_back(of_cpus());
  add_good_work(all);
  return all;
}

bool is_our_key(std::string_view key) {
  static const std::vector<JsonEdit> all = gpu_edits(false, {});
  static const std::vector<std::string_view> dashboards = dashboard_keys();
  static const std::vector<std::string_view> salvaged = results::salvage_keys();
  return std::ranges::find(all, key, &JsonEdit::key) != all.end() ||
         std::ranges::find(salvaged, key) != salvaged.end() ||
         std::ranges::find(dashboards, key) != dashboards.end();
}

// ---- Fills in a write plan.

namespace {

// `now`: the aggregate as it will be; empty: it is not changed.
PatchedAggregate patched_from(const StoredBefore& before, std::string_view now) {
  if (now.empty()) return {hashed_text(before.text), before.replaced};
  PatchedAggregate patched = {hashed_text(now), before.replaced};
  const std::vector<JsonEdit> members = members_of_ours(before.text);
  const std::string text = members_text(members);
  if (claim_nothing(members) || text == members_text(members_of_ours(now))) return patched;
  std::string hash = hashed_text(text).hash;
  if (std::ranges::find(patched.replaced, hash) == patched.replaced.end()) {
    patched.replaced.push_back(std::move(hash));
  }
  return patched;
}

// The path of the aggregate that a record says it is of, if it is there; empty: it is not.
std::string aggregate_of(const JsonValue& record, const std::string& record_path) {
  const JsonValue& named = recorded_origin(record).at("aggregate");
  if (!named.is_string()) return {};
  for (const std::string& path :
       {named.text, beside(record_path, std::string(last_name(named.text)))}) {
    if (is_regular_file(path)) return path;
  }
  return {};
}

// The aggregate of a valid record, if it is another one than `own`; empty: it is not.
std::string other_aggregate(std::string_view text, const std::string& record_path,
                            const std::string& own) {
  try {
    const JsonValue record = parse_json(text);
    if (!is_power_valid(record)) return {};
    const std::string other = aggregate_of(record, record_path);
    return other.empty() || is_same_file(other, own) ? std::string() : printable_path(other);
  } catch (const JsonError&) {
    return {};
  }
}

}  // namespace

WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, StoredBefore before) {
  WritePlan plan = std::move(target);
  plan.valid = claims_power(*result);
  plan.edits =
      edits_of(*result, result->audit_source.empty() ? std::string(last_name(plan.record_path))
                                                     : result->audit_source);
  if (!plan.only_together) plan.edits_without_audit = edits_without_record(*result);
  plan.leftovers = leftovers_of(result->way);
  plan.is_record = is_record_text;
  plan.other_aggregate = [path = plan.record_path, own = plan.aggregate_path](
                             std::string_view text) { return other_aggregate(text, path, own); };
  // As in the original, which has one reason for both.
  if (result->way == Way::native) plan.missing_aggregate = Reason::aggregate_result_unwritable;
  plan.record = [result = std::move(result), before = std::move(before)](
                    const Reasons& aggregate_reasons, std::string_view aggregate) {
    PatchedAggregate patched;
    if (result->sources.is_of_store) patched = patched_from(before, aggregate);
    return record_text(*result, aggregate_reasons, patched);
  };
  return plan;
}

}  // namespace aggregate_power
