// Parses an earlier audit record.
#include "results/past_record.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/files/byte_source.h"
#include "base/text/json.h"
#include "results/json_parts.h"
#include "results/zone_evidence_json.h"

namespace aggregate_power {

namespace {

RecordedOption option_in(const std::string& name, const Json& value) {
  if (value.is_boolean()) return {name, value.get<bool>()};
  if (value.is_number_integer()) return {name, value.get<std::int64_t>()};
  if (value.is_number()) return {name, value.get<double>()};
  return {name, value.get<std::string>()};
}

}  // namespace

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
    past.sources.is_of_store = true;
    for (const auto& [role, input] : from.at("inputs").items()) {
      past.sources.inputs.push_back(file(input));
      past.sources.inputs.back().role = role;
    }
    past.patched = file(from.at("patched"));
    const Json& contract = from.at("contract");
    past.contract = contract_named(contract.is_string() ? contract.get<std::string>() : "");
    for (const auto& [name, value] : from.at("options").items()) {
      past.sources.options.push_back(option_in(name, value));
    }
    return past;
  } catch (const std::exception&) {  // JsonError, Json::exception, std::out_of_range
    return std::nullopt;
  }
}

}  // namespace aggregate_power
