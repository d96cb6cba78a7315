// The audit record of a run as JSON.
#include "results/record.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/files/byte_source.h"
#include "base/files/path.h"
#include "base/text/json.h"
#include "results/record_parts.h"

namespace aggregate_power {
namespace {

void add_gpus(Json& record, const Integration& integration) {
  // Appended as they come: ids are unique, and looking for each among the others would be
  // quadratic.
  Json::object_t samples;
  Json::object_t gaps;
  Json::object_t energies;
  Json::object_t issues;
  Json::object_t boundary_rows;
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    const std::string& id = integration.gpu_ids[i];
    const DeviceEnergy& gpu = integration.gpus[i];
    samples.push_back({id, gpu.samples});
    if (gpu.bracketed) {
      gaps.push_back({id, gpu.max_sample_gap_s});
      energies.push_back({id, number_or_null(gpu.energy_j)});
    }
    if (integration.issues[i]) {
      issues.push_back({id, Json::array({code(*integration.issues[i])})});
    }
  }
  for (const auto& [id, rows] : integration.boundary_degenerate_rows) {
    boundary_rows.push_back({id, rows});
  }
  record["expected_gpu_count"] =
      integration.expected_num_gpus ? Json(*integration.expected_num_gpus) : Json(nullptr);
  record["observed_gpu_count"] = integration.gpu_ids.size();
  record["observed_gpu_ids"] = integration.gpu_ids;
  record["per_gpu_sample_counts"] = std::move(samples);
  record["per_gpu_max_sample_gap_s"] = std::move(gaps);
  record["per_gpu_energy_j"] = std::move(energies);
  record["device_issues"] = std::move(issues);
  record["boundary_degenerate_rows"] = std::move(boundary_rows);
}

Json accumulator_json(const std::optional<CounterCheck>& check) {
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

Json zone_json(const ZoneEvidenceRecord& evidence) {
  Json witnesses = Json::array();
  for (const ZoneWitness witness : evidence.report.witnesses) {
    witnesses.push_back(name_of(witness));
  }
  Json json = {{"level", name_of(evidence.report.level)},
               {"witnesses", std::move(witnesses)},
               {"rivals", evidence.report.rivals},
               {"recorder", text_or_null(printable_path(evidence.recorder))}};
  if (evidence.vote && !evidence.vote->is_stated) {
    json["idle_power_w"] = number_or_null(evidence.vote->idle_w);
    json["load_power_w"] = number_or_null(evidence.vote->load_w);
  }
  return json;
}

// Nothing where the record says nothing of its zone.
std::optional<ZoneEvidenceRecord> zone_evidence_in(const Json& record_window, const Json& from,
                                                   bool is_valid) {
  if (!from.contains("timezone_evidence")) return std::nullopt;
  const Json& json = from.at("timezone_evidence");
  ZoneEvidenceRecord evidence;
  evidence.report.level = level_of(json.at("level").get<std::string>());
  for (const auto& witness : json.at("witnesses")) {
    evidence.report.witnesses.push_back(witness_of(witness.get<std::string>()));
  }
  evidence.report.rivals = json.at("rivals").get<std::vector<std::string>>();
  if (json.at("recorder").is_string()) evidence.recorder = json.at("recorder");
  const auto& witnesses = evidence.report.witnesses;
  const bool is_stated =
      is_valid && std::ranges::find(witnesses, ZoneWitness::zone_file) != witnesses.end();
  if (!is_stated && !json.contains("load_power_w")) return evidence;
  ZoneVote vote;
  vote.start_unix_s = record_window.at("start_time_unix");
  vote.offset_s = Zone::parse(from.at("utc_offset").get<std::string>()).offset_at(0);
  vote.is_stated = is_stated;
  if (!is_stated) {
    vote.idle_w = json.at("idle_power_w");
    vote.load_w = json.at("load_power_w");
  }
  evidence.vote = vote;
  return evidence;
}

Json computed_from(const RecordContent& content) {
  Json origin = {{"tool_version", AGGREGATE_POWER_VERSION}};
  add_telemetry_facts(origin, content.telemetry);
  if (!content.window_source.empty()) origin["window_source"] = content.window_source;
  if (content.zone_evidence) origin["timezone_evidence"] = zone_json(*content.zone_evidence);
  if (content.origin) add_origin(origin, *content.origin);
  return origin;
}

}  // namespace

std::string record_beside(const std::string& bench_result) {
  return beside(bench_result, fmt::format("power_validation_{}.json", plain_stem(bench_result)));
}

std::string one_node_record_text(const RecordContent& content) {
  const bool valid = content.reasons.empty();
  Json record;
  record["schema_version"] = 1;
  record["power_valid"] = valid;
  record["reasons"] = content.reasons.codes();
  record["telemetry_source"] = printable_path(content.telemetry_source);
  record["benchmark_result"] = printable_path(content.benchmark_result);
  record["benchmark_window"] = window_json(content.load);
  record["integration_method"] = content.integration_method;
  if (!content.power_percentile_method.empty()) {
    record["power_percentile_method"] = content.power_percentile_method;
  }
  add_gpus(record, content.integration);
  record["accumulator_check"] = accumulator_json(content.counter_check);
  record["metrics"] = metrics_json(valid ? content.metrics : Metrics());
  if (content.failed_requests) {
    record["failed_requests"] = failed_requests_json(*content.failed_requests, valid);
  }
  // The original says it of a run without a window only (contract.md D).
  if (!content.window_source.empty() && !content.load) {
    record["window_source"] = content.window_source;
  }
  record["computed_from"] = computed_from(content);
  return record_text(record);
}

std::optional<ParsedRecord> parse_record(std::string_view text) {
  const auto file = [](const Json& json) {
    return InputFile{{}, json.at("bytes").get<std::uint64_t>(), json.at("xxh3_128")};
  };
  try {
    // Only what is wanted is made a document of: this is all that a run which is up to date takes.
    std::map<std::string, Json> record;
    MemorySource source(text);
    scan_json(source, [&](const JsonMember& member) {
      constexpr std::string_view kWanted[] = {"power_valid",      "reasons",
                                              "telemetry_source", "benchmark_result",
                                              "benchmark_window", "computed_from"};
      if (std::ranges::find(kWanted, member.key) == std::end(kWanted)) return;
      record[std::string(member.key)] =
          Json::parse(text.substr(member.value_begin, member.value_end - member.value_begin));
    });
    const Json& from = record.at("computed_from");
    ParsedRecord verdict;
    verdict.valid = record.at("power_valid");
    verdict.reasons = record.at("reasons");
    verdict.telemetry_source = record.at("telemetry_source");
    verdict.benchmark_result = record.at("benchmark_result");
    verdict.timezone = from.at("timezone").is_string() ? from.at("timezone") : Json("");
    verdict.zone_evidence = zone_evidence_in(record["benchmark_window"], from, verdict.valid);
    verdict.tool_version = from.at("tool_version");
    for (const auto& [role, input] : from.at("inputs").items()) {
      verdict.origin.inputs.push_back(file(input));
      verdict.origin.inputs.back().role = role;
    }
    verdict.origin.patched = file(from.at("patched"));
    const Json& options = from.at("options");
    verdict.origin.schema_version = options.at("schema_version");
    verdict.origin.expected_num_gpus = options.at("expected_num_gpus");
    verdict.origin.timezone = options.at("timezone");
    verdict.origin.max_sample_gap_s = options.at("max_sample_gap_s");
    verdict.origin.expected_producer_sha = options.value("expected_producer_sha", "");
    verdict.origin.salvage = options.value("salvage", false);
    verdict.origin.power_unit = options.value("power_unit", "");
    return verdict;
  } catch (const std::exception&) {  // JsonError, Json::exception, std::out_of_range
    return std::nullopt;
  }
}

}  // namespace aggregate_power
