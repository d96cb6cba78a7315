// Pieces that the audit records of all kinds of runs share.
#include "results/record_parts.h"

#include <cmath>

namespace aggregate_power {
namespace {

Json file_json(const InputFile& file) { return {{"bytes", file.bytes}, {"xxh3_128", file.hash}}; }

}  // namespace

Json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

Json window_json(const std::optional<Load>& load) {
  if (!load) return nullptr;
  return {{"start_time_unix", load->window.start_unix_s},
          {"end_time_unix", load->window.end_unix_s},
          {"reported_duration_s", load->reported_duration_s},
          {"integration_duration_s", load->window.duration_s()},
          {"completed", load->completed},
          {"total_input_tokens", load->total_input_tokens},
          {"total_output_tokens", load->total_output_tokens}};
}

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    json[std::string(metric.key)] = rounded(metric.value, kAuditDecimals);
  }
  return json;
}

Json failed_requests_json(const FailedRequests& failed, bool valid) {
  Json energy_j;
  if (valid && failed.energy_share_j && std::isfinite(*failed.energy_share_j)) {
    energy_j = rounded(*failed.energy_share_j, kAuditDecimals);
  }
  return {{"count", failed.count},
          {"energy_share_j", energy_j},
          {"method", "power_shared_equally_by_requests_in_flight"}};
}

void add_telemetry_facts(Json& record, const std::optional<TelemetryFacts>& telemetry) {
  const TelemetryFacts facts = telemetry.value_or(TelemetryFacts{});
  record["schema"] = text_or_null(facts.series.schema);
  record["timestamp_column"] = or_null(facts.series.timestamp_column);
  record["power_column"] = or_null(facts.series.power_column);
  record["power_unit"] =
      facts.series.power_column ? Json(unit_symbol(facts.series.unit)) : Json(nullptr);
  record["device_column"] = or_null(facts.series.device_column);
  record["timezone"] = text_or_null(facts.timezone);
  record["timezone_source"] = text_or_null(facts.timezone_source);
  record["utc_offset"] = text_or_null(facts.utc_offset);
  Json skipped = Json::object();
  if (telemetry) {
    for (const auto& [cause, count] : facts.skipped) skipped[std::string(cause)] = count;
  }
  record["skipped"] = std::move(skipped);
}

void add_origin(Json& record, const Origin& origin) {
  Json inputs = Json::object();
  for (const InputFile& input : origin.inputs) inputs[input.role] = file_json(input);
  record["inputs"] = std::move(inputs);
  record["options"] = {{"schema_version", origin.schema_version},
                       {"expected_num_gpus", origin.expected_num_gpus},
                       {"timezone", origin.timezone},
                       {"max_sample_gap_s", origin.max_sample_gap_s}};
  if (!origin.expected_producer_sha.empty()) {
    record["options"]["expected_producer_sha"] = origin.expected_producer_sha;
  }
  if (origin.salvage) record["options"]["salvage"] = true;
  if (!origin.power_unit.empty()) record["options"]["power_unit"] = origin.power_unit;
  record["patched"] = file_json(origin.patched);
}

std::string record_text(const Json& record) {
  return record.dump(2, ' ', true, Json::error_handler_t::replace);
}

}  // namespace aggregate_power
