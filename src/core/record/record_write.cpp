// The table of the audit record's members.
#include "core/record/record_write.h"

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "core/energy/counter_trace.h"
#include "core/energy/cpu_power.h"
#include "core/record/efficiency_json.h"
#include "core/record/limits_json.h"
#include "core/record/record_numbers.h"
#include "core/record/request_json.h"
#include "core/record/salvage_json.h"

namespace aggregate_power {
namespace {

// The data a record is written from.
struct Written {
  const Result& result;
  Reasons reasons;  // including those of the aggregate
  const Reasons& aggregate_reasons;
  const PatchedAggregate& patched;

  bool is_valid() const { return reasons.empty(); }
};

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    json[std::string(metric.key)] = rounded(metric.value, kAuditDecimals);
  }
  return json;
}

Json series_json(const std::vector<std::pair<std::string, double>>& values) {
  Json::object_t object;
  for (const auto& [key, value] : values) object.push_back({key, number_or_null(value)});
  return object;
}

Json failures_of_hosts(const Written& written) {
  Json failures = Json::array();
  const auto add = [&](const std::string& host, const Reasons::Entry& entry) {
    failures.push_back(fmt::format("{}{}{}{}{}", host, host.empty() ? "" : ": ", code(entry.reason),
                                   entry.detail.empty() ? "" : ": ", entry.detail));
  };
  Reasons of_hosts;
  for (const HostResult& host : written.result.hosts) {
    for (const Reasons::Entry& entry : host.reasons.entries()) {
      add(printable_path(host.host), entry);
    }
    of_hosts.add(host.reasons);
  }
  for (const Reasons::Entry& entry : written.reasons.entries()) {
    if (!of_hosts.contains(entry.reason)) add("", entry);
  }
  return failures;
}

Json failures(const Written& written) {
  if (written.result.way == Way::hosts) return failures_of_hosts(written);
  Json failures = written.result.failures;
  for (const Reasons::Entry& entry : written.aggregate_reasons.entries()) {
    if (!entry.detail.empty()) failures.push_back(entry.detail);
  }
  return failures;
}

Json benchmark_window(const Written& written) {
  const std::optional<Load>& load = written.result.load;
  if (!load) return nullptr;
  return {{"start_time_unix", load->window.start_unix_s},
          {"end_time_unix", load->window.end_unix_s},
          {"reported_duration_s", load->reported_duration_s},
          {"integration_duration_s", load->window.duration_s()},
          {"completed", load->completed},
          {"total_input_tokens", load->total_input_tokens},
          {"total_output_tokens", load->total_output_tokens}};
}

Json selected_window(const Written& written) {
  const std::optional<SelectedWindow>& selected = written.result.package->window;
  if (!selected) return nullptr;
  Json json = {{"window_file", selected->file},
               {"result_path", selected->result_path},
               {"benchmark_type", selected->benchmark_type},
               {"concurrency", selected->concurrency},
               {"start_time_unix", selected->window.start_unix_s},
               {"end_time_unix", selected->window.end_unix_s},
               {"duration", selected->duration_s}};
  if (written.result.contract == Contract::october) {
    json[kPowerValid] = selected->power_valid;
    json["metrics"] = metrics_json(selected->metrics);
    if (written.result.package->has_unproven_clocks) json["clocks"] = "not proven to agree";
  }
  return json;
}

Json window_validations(const Written& written) {
  return list_of(written.result.package->windows, [&](const WindowFinding& window) -> Json {
    return {{"benchmark_type", window.benchmark_type},
            {"concurrency", window.concurrency},
            {"window_file", or_null(window.file)},
            {"power_coverage_valid", window.codes.empty()},
            {"reason_codes", window.codes},
            {"per_device_max_sample_gap_seconds", series_json(window.gaps_s)}};
  });
}

Json gap_energy_bound(const Written& written) {
  const std::optional<GapEnergyBound>& bound = written.result.gap_bound;
  if (!bound) return nullptr;
  return {{"total", number_or_null(bound->total_j)}, {"per_gpu", series_json(bound->per_gpu_j)}};
}

Json integration_method(const Written& written) {
  return written.result.way == Way::sample_mean
             ? "mean_of_sample_buckets"
             : "per_device_trapezoidal_with_linear_boundary_interpolation";
}

Json percentile_method(const Written&) {
  return "time_weighted_synchronized_total_piecewise_linear";
}

Json producer(const Written& written) {
  const PackageFacts& package = *written.result.package;
  return {{"producer_git_commit", or_null(package.producer_git_commit)},
          {"expected_producer_git_commit", text_or_null(package.expected_producer_sha)},
          {"exporter_image_sha256", or_null(package.exporter_image_sha256)},
          {"stored_publication_valid", or_null(package.stored_publication_valid)},
          {"recomputed_publication_valid", or_null(package.recomputed_publication_valid)}};
}

// ---- By GPU

Json roles(const Written& written) {
  JsonObject roles;
  for (const auto& [gpu, role] : written.result.roles) roles.set(gpu, role);
  return std::move(roles).take();
}

// `value` for each GPU; nulls are left out.
template <typename Value>
Json by_gpu(const Written& written, const Value& value) {
  JsonObject object;
  for (const GpuResult& gpu : written.result.gpus) {
    if (std::optional<Json> json = value(gpu)) object.set(gpu.name, std::move(*json));
  }
  return std::move(object).take();
}

Json sample_counts(const Written& written) {
  return by_gpu(written,
                [](const GpuResult& gpu) { return std::optional<Json>(gpu.energy.samples); });
}

Json gaps(const Written& written) {
  return by_gpu(written, [](const GpuResult& gpu) {
    return gpu.energy.bracketed ? std::optional<Json>(gpu.energy.max_sample_gap_s) : std::nullopt;
  });
}

Json energies(const Written& written) {
  return by_gpu(written, [](const GpuResult& gpu) {
    return gpu.energy.bracketed ? std::optional(number_or_null(gpu.energy.energy_j)) : std::nullopt;
  });
}

Json issues(const Written& written) {
  return by_gpu(written, [](const GpuResult& gpu) {
    return gpu.issue ? std::optional(Json::array({code(*gpu.issue)})) : std::nullopt;
  });
}

Json boundary_rows(const Written& written) {
  JsonObject object;
  for (const auto& [gpu, rows] : written.result.boundary_degenerate_rows) object.set(gpu, rows);
  return std::move(object).take();
}

Json counter_check(const Written& written) {
  const std::optional<CounterCheck>& check = written.result.counters;
  if (!check) return nullptr;
  if (!check->unavailable.empty()) return {{"available", false}, {"reason", check->unavailable}};
  Json::object_t deltas;
  for (const auto& [id, delta_j] : check->per_gpu_delta_j) deltas.push_back({id, delta_j});
  return {{"available", true},
          {"accumulator_delta_j", number_or_null(check->accumulator_delta_j)},
          {"integrated_stream_j", number_or_null(check->integrated_stream_j)},
          {"relative_error", number_or_null(check->relative_error)},
          {"within_tolerance", check->within_tolerance},
          {"tolerance", check->tolerance},
          {"per_gpu_delta_j", std::move(deltas)},
          {"integrated_gpu_ids", check->integrated_gpu_ids},
          {"unmatched_gpus", check->unmatched_gpus},
          {"negative_delta_gpus", check->negative_delta_gpus},
          {"stream_span_s", check->stream_span_s}};
}

// Only GPUs whose power was integrated.
Json recorded_counters(const Written& written) {
  const RecordedCounters& recorded = *written.result.recorded_counters;
  JsonObject gpus;
  for (const CounterInWindow& gpu : recorded.gpus) {
    const std::optional<double> ratio = gpu.counter_j && gpu.power_j && *gpu.power_j > 0
                                            ? std::optional(*gpu.counter_j / *gpu.power_j)
                                            : std::nullopt;
    gpus.set(gpu.gpu, {{"counter_energy_j", number_or_null(gpu.counter_j)},
                       {"integrated_energy_j", number_or_null(gpu.power_j)},
                       {"ratio", number_or_null(ratio)},
                       {"resolution_j", number_or_null(gpu.resolution_j)},
                       {"within_tolerance", ratio ? Json(!gpu.differs) : Json()},
                       {"readings", gpu.readings},
                       {"fault", text_or_null(gpu.fault)}});
  }
  return {{"counter", recorded.counter.name},
          {"unit", recorded.counter.unit},
          {"tolerance", kCounterTolerance},
          {"per_gpu", std::move(gpus).take()}};
}

// ---- By host. The names are unique, and searching for each among the others would be quadratic.

Json by_host(const Written& written, Json (*value)(const HostResult&)) {
  Json::object_t object;
  for (const HostResult& host : written.result.hosts) {
    object.push_back({printable_path(host.host), value(host)});
  }
  return object;
}

Json found_on(const HostResult& host) {
  Json::object_t uuids;
  for (const RecordedGpu& gpu : host.gpus) uuids.push_back({gpu.id, text_or_null(gpu.uuid)});
  return {{"reasons", host.reasons.codes()},
          {"observed_gpu_count", host.gpus.size()},
          {"gpu_uuids", std::move(uuids)}};
}

Json clock_estimate(const HostResult& host) {
  if (!host.clock_estimate) return nullptr;
  return {{"offset_s", host.clock_estimate->offset_s},
          {"uncertainty_s", host.clock_estimate->uncertainty_s}};
}

// ---- Numbers

Json metrics(const Written& written) {
  return metrics_json(written.is_valid() ? written.result.metrics : Metrics());
}

bool has_intervals(const Written& written) {
  return written.is_valid() &&
         std::ranges::any_of(written.result.metrics,
                             [](const Metric& metric) { return metric.interval.has_value(); });
}

Json metric_intervals(const Written& written) {
  return metric_intervals_json(written.result.metrics);
}

Json cpu_power(const Written& written) {
  CpuPower power = *written.result.cpu;
  if (written.result.contract == Contract::october) power.withhold(written.aggregate_reasons);
  std::optional<std::string_view> sensor;
  if (power.sensor) sensor = name(*power.sensor);
  Json json = {
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
      {"per_series_max_sample_gap_s", series_json(power.max_sample_gap_s)},
      {"per_series_energy_j", series_json(power.energy_j)},
      {"metrics", metrics_json(power.metrics)}};
  if (!power.samples_file.empty()) json["samples_file"] = power.samples_file;
  return json;
}

Json failed_requests(const Written& written) {
  const FailedRequests& failed = *written.result.failed_requests;
  Json energy_j;
  if (written.is_valid() && failed.energy_share_j && std::isfinite(*failed.energy_share_j)) {
    energy_j = rounded(*failed.energy_share_j, kAuditDecimals);
  }
  return {{"count", failed.count},
          {"energy_share_j", energy_j},
          {"method", "power_shared_equally_by_requests_in_flight"}};
}

Json witnesses(const Written& written) {
  return seen_by_witnesses_json(written.result, written.is_valid());
}

Json modelled_node(const Written& written) {
  return modelled_node_json(*written.result.modelled_node);
}

Json idle(const Written& written) {
  return idle_json(written.result, written.is_valid(), requested_interval(written.result));
}

Json uncertainty(const Written& written) {
  return uncertainty_json(written.result, written.is_valid());
}

// ---- A native package

Json native_nodes(const Written& written) {
  Json nodes = Json::array();
  for (const NativeNodeFacts& node : written.result.native->nodes) {
    Json json = Json::object();
    for (const auto& [key, spelling] : node.manifest) {
      const Json value = Json::parse(spelling, nullptr, false);
      json[key] = value.is_discarded() ? Json() : value;  // such as NaN, or a lone surrogate
    }
    Json& gpus = json["physical_gpu_ids"] = Json::object();
    for (const auto& [index, uuid] : node.physical_gpu_ids) gpus[index] = text_or_null(uuid);
    json["manifest_sha256"] = text_or_null(node.manifest_sha256);
    json["telemetry_sha256"] = text_or_null(node.telemetry_sha256);
    json["identity_sha256"] = text_or_null(node.identity_sha256);
    json["identity_end_sha256"] = text_or_null(node.identity_end_sha256);
    nodes.push_back(std::move(json));
  }
  return nodes;
}

Json native_errors(const Written& written) {
  return list_of(written.result.native->node_errors, [&](const NativeNodeError& error) -> Json {
    return {{"node", printable_path(error.node)}, {"type", error.type}, {"detail", error.detail}};
  });
}

Json native_producer(const Written& written) {
  const NativeFacts& native = *written.result.native;
  return {{"name", "inferencex-native-smi"},
          {"revisions", native.revisions},
          {"producer_git_commit", or_null(native.revision())}};
}

// ---- What it was computed from

// Null, and no skipped rows, if the telemetry was not read.
void add_sensor(Json& json, const Sensor& sensor) {
  json["collector"] = sensor.collector;
  json["sensor"] = sensor.name;
  json["scope"] = sensor.scope;
  json["averaging"] = sensor.averaging;
}

void add_telemetry_facts(Json& json, const std::optional<TelemetryFacts>& telemetry) {
  const TelemetryFacts facts = telemetry.value_or(TelemetryFacts{});
  json["schema"] = text_or_null(facts.series.schema);
  json["timestamp_column"] = or_null(facts.series.timestamp_column);
  json["power_column"] = or_null(facts.series.power_column);
  json["power_unit"] =
      facts.series.power_column ? Json(unit_symbol(facts.series.unit)) : Json(nullptr);
  json["device_column"] = or_null(facts.series.device_column);
  json["timezone"] = text_or_null(facts.timezone);
  json["timezone_source"] = text_or_null(facts.timezone_source);
  json["utc_offset"] = text_or_null(facts.utc_offset);
  if (!facts.series.given_columns.empty()) json["columns"] = facts.series.given_columns;
  Json skipped = Json::object();
  for (const auto& [cause, count] : facts.skipped) skipped[std::string(cause)] = count;
  json["skipped"] = std::move(skipped);
  add_sensor(json, facts.series.sensor);
}

Json read_on(const HostResult& host) {
  Json json = {{"telemetry", printable_path(host.csv)},
               {"identity", text_or_null(printable_path(host.identity_file))},
               {"clock_offset_s", host.clock_offset_s}};
  add_telemetry_facts(json, host.telemetry);
  return json;
}

void add_package_facts(Json& json, const PackageFacts& package) {
  const bool was_read = package.samples_version != 0;
  json["schema"] = was_read ? Json("srt-slurm samples") : Json();
  json["samples_version"] = was_read ? Json(package.samples_version) : Json();
  json["producer_rules"] = text_or_null(package.dialect);
  json["producer_pin"] = package.expected_producer_sha.empty() ? Json()
                         : package.is_pin_of_package           ? Json("package")
                                                               : Json("option");
  json["timezone"] = "UTC";
  json["timezone_source"] = "stamps";
  json["source_metric"] = or_null(package.source_metric);
  json["power_scope"] = or_null(package.power_scope);
  const std::string scope = package.power_scope.value_or("unknown");
  add_sensor(json, {"srt-slurm", package.source_metric.value_or("unknown"),
                    scope.starts_with("gpu") ? "gpu" : scope, "unknown"});
  if (!package.salvage) return;
  Json salvaged = Json::object();
  for (const auto& [name, count] : package.salvaged) salvaged[name] = count;
  json["salvaged"] = std::move(salvaged);
}

void add_native_facts(Json& json, const Written& written) {
  json["telemetry_source"] = printable_path(written.result.telemetry_source);
  json["timezone"] = "UTC";
  json["timezone_source"] = "native";
  json["nodes"] = by_host(written, read_on);
}

Json zone_evidence_json(const ZoneEvidenceRecord& evidence) {
  Json json = {
      {"level", name_of(evidence.report.level)},
      {"witnesses", list_of(evidence.report.witnesses,
                            [&](const ZoneWitness witness) -> Json { return name_of(witness); })},
      {"rivals", evidence.report.rivals},
      {"recorder", text_or_null(printable_path(evidence.recorder))}};
  if (evidence.vote && !evidence.vote->is_stated) {
    json["idle_power_w"] = number_or_null(evidence.vote->idle_w);
    json["load_power_w"] = number_or_null(evidence.vote->load_w);
  }
  return json;
}

Json file_json(const InputFile& file) { return {{"bytes", file.bytes}, {"xxh3_128", file.hash}}; }

// A run that is not in a store is the caller's: what others do to its aggregate is their business.
void add_sources(Json& json, const Sources& sources, const PatchedAggregate& patched) {
  if (!sources.is_of_store) json["aggregate"] = printable_path(sources.aggregate);
  JsonObject inputs;
  for (const InputFile& input : sources.inputs) {
    inputs.set(sources.is_of_store ? input.role : printable_path(input.role), file_json(input));
  }
  json["inputs"] = std::move(inputs).take();
  for (const auto& [name, value] : sources.options) {
    Json& option = json["options"][name];
    std::visit([&](const auto& given) { option = given; }, value);
  }
  if (!sources.is_of_store) return;
  json["patched"] = file_json(patched.left);
  if (!patched.replaced.empty()) json["patched"]["replaced"] = patched.replaced;
}

Json computed_from(const Written& written) {
  const Result& result = written.result;
  Json json = {{"tool_version", AGGREGATE_POWER_VERSION}, {"contract", name(result.contract)}};
  if (result.way == Way::hosts) {
    json["hosts"] = by_host(written, read_on);
  } else if (result.package) {
    add_package_facts(json, *result.package);
  } else if (result.native) {
    add_native_facts(json, written);
  } else {
    add_telemetry_facts(json, result.telemetry);
  }
  if (!result.expected_gpus_source.empty()) {
    json["expected_gpu_count_source"] = result.expected_gpus_source;
  }
  if (!result.window_source.empty()) json["window_source"] = result.window_source;
  if (result.zone_evidence) json["timezone_evidence"] = zone_evidence_json(*result.zone_evidence);
  add_sources(json, result.sources, written.patched);
  return json;
}

// ---- The record's members, in their order

constexpr unsigned bit(Way way) { return 1U << static_cast<unsigned>(way); }
constexpr unsigned kOneRecording = bit(Way::sample_mean) | bit(Way::one_node);
constexpr unsigned kHosts = bit(Way::hosts);
constexpr unsigned kPackage = bit(Way::package);
constexpr unsigned kNative = bit(Way::native);
constexpr unsigned kAll = kOneRecording | kHosts | kPackage;

struct Member {
  const char* key;
  unsigned ways;  // the ways of measuring whose records have it
  Json (*value)(const Written&);
  bool (*is_there)(const Written&) = [](const Written&) { return true; };
};

// Whether the result has this part, such as &Result::idle.
template <auto Result::*part>
bool has(const Written& written) {
  return (written.result.*part).has_value();
}
bool is_october(const Written& written) { return written.result.contract == Contract::october; }
bool has_curve(const Written& written) {
  return written.result.fleet && written.result.fleet->power;
}
bool is_refused(const Written& written) {
  return !written.is_valid() && is_october(written) && written.result.way != Way::sample_mean;
}
// As in the original, an invalid record names the method, too.
bool names_method(const Written& written) { return has_curve(written) || is_refused(written); }
// Since October the records of packages name the method where those of one recording do.
bool has_early_fleet(const Written& written) {
  return (has<&Result::fleet>(written) || is_refused(written)) &&
         written.result.way == Way::package && is_october(written);
}
bool has_late_fleet(const Written& written) {
  return (has<&Result::fleet>(written) || is_refused(written)) && !has_early_fleet(written);
}
bool has_accepted(const Written& written) { return !written.result.accepted.empty(); }

// By code, what was found.
Json accepted_reasons(const Written& written) {
  Json found = Json::object();
  for (const Reasons::Entry& entry : written.result.accepted.entries()) {
    found[std::string(code(entry.reason))] = entry.detail;
  }
  return found;
}

bool has_efficiency(const Written& written) {
  return is_october(written) && written.is_valid() &&
         (written.result.keys == RowKeys::all || results::cpu_leg(written.result));
}

Json performance_per_watt(const Written& written) {
  return results::efficiency_json(written.result);
}

Json power_limits(const Written& written) { return results::limits_json(written.result.limits); }
bool has_limits(const Written& written) {
  return is_october(written) && !written.result.limits.empty();
}

// Reasons of the aggregate may have been added since.
Json salvage(const Written& written) {
  return results::salvage_json(
      *written.result.salvaged,
      results::lacks_only_samples(written.result) && written.aggregate_reasons.empty());
}

// As in the original, only a run without a window names the source of its window (contract.md D).
bool says_window_source(const Written& written) {
  const Result& result = written.result;
  const bool has_none = result.package ? result.package->is_refused : !result.load;
  return has_none && !result.window_source.empty();
}

// A run of agents whose package was not read says nothing else (contract-october.md 4). A record in
// a store says all, because that is how a run is known to be up to date.
bool is_left_out(std::string_view key, const Result& result) {
  if (!result.package || !result.package->is_refused) return false;
  if (!rules_of(result.contract).hides_refused_package || result.sources.is_of_store) return false;
  return key != kPowerValid && key != "reasons" && key != "window_source";
}

constexpr Member kMembers[] = {
    {"schema_version", kAll, [](const Written&) { return Json(1); }},
    {kPowerValid, kAll, [](const Written& w) { return Json(w.is_valid()); }},
    {"reasons", kAll, [](const Written& w) { return Json(w.reasons.codes()); }},
    {"accepted_reasons", kAll, accepted_reasons, has_accepted},
    {"failures", kHosts | kPackage, failures},
    {"telemetry_source", kAll,
     [](const Written& w) { return Json(printable_path(w.result.telemetry_source)); }},
    {"benchmark_result", kAll,
     [](const Written& w) { return Json(printable_path(w.result.benchmark_result)); }},
    {"benchmark_window", kAll, benchmark_window},
    {"selected_window", kPackage, selected_window},
    {"package_integrity_valid", kPackage,
     [](const Written& w) { return Json(w.result.package->is_integral); }, is_october},
    {"window_validations", kPackage, window_validations, is_october},
    {"integration_method", kAll, integration_method},
    {"power_percentile_method", kPackage, percentile_method, has_early_fleet},
    {"power_percentile_method", kOneRecording, percentile_method, names_method},
    {"producer", kPackage, producer},
    {"expected_gpu_count", kAll, [](const Written& w) { return or_null(w.result.expected_gpus); }},
    {"observed_gpu_count", kAll, [](const Written& w) { return Json(w.result.observed_gpus); }},
    {"observed_gpu_ids", kOneRecording,
     [](const Written& w) { return Json(w.result.observed_gpu_ids); }},
    {"gpu_uuids", kOneRecording, [](const Written& w) { return Json(gpu_uuids(w.result)); },
     [](const Written& w) { return has<&Result::uncertainty>(w) && !gpu_uuids(w.result).empty(); }},
    {"selected_gpus", kOneRecording, [](const Written& w) { return Json(w.result.selected_gpus); },
     [](const Written& w) { return !w.result.selected_gpus.empty(); }},
    {"per_gpu_role", kHosts | kPackage, roles},
    {"per_gpu_sample_counts", kOneRecording | kHosts, sample_counts},
    {"per_gpu_max_sample_gap_s", kAll, gaps},
    {"per_gpu_energy_j", kAll, energies},
    {"device_issues", kOneRecording | kHosts, issues},
    {"boundary_degenerate_rows", kOneRecording | kHosts, boundary_rows},
    {"accumulator_check", kOneRecording, counter_check},
    {"counter_check", kOneRecording, recorded_counters, has<&Result::recorded_counters>},
    {"hosts", kHosts, [](const Written& w) { return by_host(w, found_on); }},
    {"clock_offset_estimates", kHosts, [](const Written& w) { return by_host(w, clock_estimate); }},
    {"power_percentile_method", kHosts | kPackage, percentile_method, has_late_fleet},
    {"metrics", kAll, metrics},
    {"metric_intervals", kAll, metric_intervals, has_intervals},
    {"power_limits", kAll, power_limits, has_limits},
    {"performance_per_watt", kAll, performance_per_watt, has_efficiency},
    {"energy_reports", kPackage,
     [](const Written& w) { return results::energy_reports_json(w.result.reported_energies); },
     [](const Written& w) { return !w.result.reported_energies.empty(); }},
    {"cpu_power", kPackage, cpu_power,
     [](const Written& w) { return w.result.cpu.has_value() && !is_october(w); }},
    {"cpu", kPackage, cpu_power,
     [](const Written& w) { return w.result.cpu.has_value() && is_october(w); }},
    {"gap_dialect", kPackage,
     [](const Written& w) { return text_or_null(w.result.package->gap_rule); }, is_october},
    {"gap_energy_bound_j", kAll, gap_energy_bound,
     [](const Written& w) { return is_october(w) && (w.result.package || w.result.gap_bound); }},
    {"failed_requests", kOneRecording | kPackage, failed_requests, has<&Result::failed_requests>},
    {"witnesses", kOneRecording, witnesses,
     [](const Written& w) { return !w.result.witnesses.empty(); }},
    {"modelled_node", kOneRecording, modelled_node, has<&Result::modelled_node>},
    {"request_energy", kOneRecording,
     [](const Written& w) { return request_energy_json(*w.result.request_energy, w.is_valid()); },
     has<&Result::request_energy>},
    {"phase_energy", kOneRecording,
     [](const Written& w) { return phase_energy_json(*w.result.phase_energy, w.is_valid()); },
     has<&Result::phase_energy>},
    {"good_work", kOneRecording,
     [](const Written& w) { return good_work_json(*w.result.good_work, w.is_valid()); },
     has<&Result::good_work>},
    {"correct_answers", kOneRecording,
     [](const Written& w) { return correct_answers_json(*w.result.answers, w.is_valid()); },
     has<&Result::answers>},
    {"window_source", kOneRecording | kPackage,
     [](const Written& w) { return Json(w.result.window_source); }, says_window_source},
    {"idle", kAll, idle, has<&Result::idle>},
    {"uncertainty", kAll, uncertainty, has<&Result::uncertainty>},
    {"salvage", kAll, salvage, has<&Result::salvaged>},
    {kComputedFrom, kAll, computed_from},
};

// The order of the original's record of a native package, contract-october.md 3.3, with the energy
// of each GPU.
constexpr Member kNativeMembers[] = {
    {"schema_version", kNative, [](const Written&) { return Json(1); }},
    {"telemetry_kind", kNative, [](const Written&) { return Json("native_multinode_smi"); }},
    {kPowerValid, kNative, [](const Written& w) { return Json(w.is_valid()); }},
    {"reasons", kNative, [](const Written& w) { return Json(w.reasons.codes()); }},
    {"accepted_reasons", kNative, accepted_reasons, has_accepted},
    {"benchmark_result", kNative,
     [](const Written& w) { return Json(printable_path(w.result.benchmark_result)); }},
    {"benchmark_result_sha256", kNative,
     [](const Written& w) { return or_null(w.result.native->benchmark_result_sha256); }},
    {"benchmark_window", kNative, benchmark_window},
    {"expected_gpu_count", kNative,
     [](const Written& w) { return or_null(w.result.expected_gpus); }},
    {"nodes", kNative, native_nodes},
    {"node_errors", kNative, native_errors},
    {"observed_gpu_count", kNative, [](const Written& w) { return Json(w.result.observed_gpus); }},
    {"per_gpu_role", kNative, roles},
    {"per_gpu_sample_counts", kNative, sample_counts},
    {"boundary_degenerate_rows", kNative, boundary_rows},
    {"per_gpu_max_sample_gap_s", kNative, gaps},
    {"per_gpu_energy_j", kNative, energies},
    {"producer", kNative, native_producer},
    {"integration_method", kNative, integration_method},
    {"power_percentile_method", kNative, percentile_method, names_method},
    {"metrics", kNative, metrics},
    {"idle", kNative, idle, has<&Result::idle>},
    {"power_limits", kNative, power_limits, has_limits},
    {"performance_per_watt", kNative, performance_per_watt, has_efficiency},
    {"gap_energy_bound_j", kNative, gap_energy_bound, has<&Result::gap_bound>},
    {"uncertainty", kNative, uncertainty, has<&Result::uncertainty>},
    {"salvage", kNative, salvage, has<&Result::salvaged>},
    {kComputedFrom, kNative, computed_from},
};

std::span<const Member> members_of(Way way) {
  return way == Way::native ? std::span<const Member>(kNativeMembers) : kMembers;
}

}  // namespace

std::string record_beside(const std::string& bench_result) {
  return beside(bench_result, fmt::format("power_validation_{}.json", plain_stem(bench_result)));
}

std::string record_text(const Result& result, const Reasons& aggregate_reasons,
                        const PatchedAggregate& patched) {
  Written written{result, result.reasons, aggregate_reasons, patched};
  written.reasons.add(aggregate_reasons);
  Json record;
  for (const Member& member : members_of(result.way)) {
    const bool is_member = (member.ways & bit(result.way)) != 0 && member.is_there(written) &&
                           !is_left_out(member.key, result);
    if (is_member) record[member.key] = member.value(written);
  }
  return indented_text(record);
}

}  // namespace aggregate_power
