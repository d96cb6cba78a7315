// Parses an earlier audit record.
#include "results/past_record.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/files/byte_source.h"
#include "base/text/json.h"
#include "results/json_parts.h"
#include "results/uncertainty_json.h"
#include "results/zone_evidence_json.h"

namespace aggregate_power {

std::optional<PastRecord> parse_record(std::string_view text) {
  const auto file = [](const Json& json) {
    return InputFile{{}, json.at("bytes").get<std::uint64_t>(), json.at("xxh3_128")};
  };
  try {
    // Only the wanted members become documents: this is all the work for a run that is up to date.
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
    PastRecord past;
    past.valid = record.at("power_valid");
    past.reasons = record.at("reasons");
    const bool is_native = !record.contains("telemetry_source");
    past.telemetry_source = is_native ? from.at("telemetry_source") : record.at("telemetry_source");
    past.benchmark_result = record.at("benchmark_result");
    past.timezone = from.at("timezone").is_string() ? from.at("timezone") : Json("");
    past.zone_evidence = zone_evidence_in(record["benchmark_window"], from, past.valid);
    past.tool_version = from.at("tool_version");
    for (const auto& [role, input] : from.at("inputs").items()) {
      past.origin.inputs.push_back(file(input));
      past.origin.inputs.back().role = role;
    }
    past.origin.patched = file(from.at("patched"));
    const Json& options = from.at("options");
    past.origin.contract =
        from.at("contract") == name(Contract::august) ? Contract::august : Contract::october;
    past.origin.schema_version = options.at("schema_version");
    past.origin.expected_num_gpus = options.at("expected_num_gpus");
    past.origin.timezone = options.at("timezone");
    past.origin.max_sample_gap_s = options.at("max_sample_gap_s");
    past.origin.expected_producer_sha = options.value("expected_producer_sha", "");
    past.origin.salvage = options.value("salvage", false);
    past.origin.power_unit = options.value("power_unit", "");
    past.origin.columns = options.value("columns", "");
    past.origin.select = options.value("select", "");
    past.origin.window = options.value("window", "");
    past.origin.idle = options.value("idle", "");
    past.origin.uncertainty = uncertainty_options_in(options);
    return past;
  } catch (const std::exception&) {  // JsonError, Json::exception, std::out_of_range
    return std::nullopt;
  }
}

}  // namespace aggregate_power
