// Writes resourceMetrics, scopeMetrics, metrics, dataPoints; 64-bit integers are strings.
#include "exports/otlp_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace {

using OtlpJson = nlohmann::ordered_json;

// UCUM, from which a collector makes the names that Prometheus has for the same.
std::string_view ucum(GaugeUnit unit) {
  constexpr std::string_view kUnits[] = {"", "J", "W", "s", "1", "Cel", "g"};
  return kUnits[static_cast<std::size_t>(unit)];
}

// A double holds a time to 0.2 µs; what is finer would be noise.
std::string nanoseconds(double unix_s) {
  const double whole_s = std::floor(unix_s);
  const auto micros = static_cast<std::int64_t>(std::llround((unix_s - whole_s) * 1e6));
  return std::to_string(static_cast<std::int64_t>(whole_s) * 1'000'000'000 + micros * 1000);
}

OtlpJson attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

std::string dumped(const OtlpJson& json) {
  return json.dump(-1, ' ', true, OtlpJson::error_handler_t::replace);
}

// As dumped() writes it, which most texts do not need.
void write_string(std::string_view value, std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(value, is_plain)) {
    text += dumped(std::string(value));
    return;
  }
  text += '"';
  text += value;
  text += '"';
}

// Made into text at once: of many runs, values in memory would take a hundred times as much, and
// most of the time.
void write_point(const GaugeSample& sample, bool is_count, std::string& text) {
  text += "{\"attributes\":[";
  sample.labels.for_each([&](const GaugeLabel& label) {
    text += text.back() == '[' ? "{\"key\":" : ",{\"key\":";
    write_string(label.name, text);
    text += ",\"value\":{\"stringValue\":";
    write_string(label.value, text);
    text += "}}";
  });
  text += ']';
  const auto out = std::back_inserter(text);
  if (sample.start_unix_s > 0) {
    fmt::format_to(out, ",\"startTimeUnixNano\":\"{}\"", nanoseconds(sample.start_unix_s));
  }
  fmt::format_to(out, ",\"timeUnixNano\":\"{}\"", nanoseconds(sample.end_unix_s));
  if (is_count) {
    fmt::format_to(out, ",\"asInt\":\"{:.0f}\"}}", sample.value);
  } else {
    fmt::format_to(out, ",\"asDouble\":{}}}", dumped(sample.value));
  }
}

void write_metric(const GaugeFamily& family, std::string& text) {
  const auto has_time = [](const GaugeSample& sample) { return sample.end_unix_s > 0; };
  if (std::ranges::none_of(family.samples, has_time)) return;
  std::string head = dumped({{"name", "aggregate_power." + family.name},
                             {"description", family.help},
                             {"unit", ucum(family.unit)}});
  head.pop_back();
  text += (text.ends_with('[') ? "" : ",") + head + ",\"gauge\":{\"dataPoints\":[";
  for (const GaugeSample& sample : family.samples) {
    if (!has_time(sample)) continue;
    if (!text.ends_with('[')) text += ',';
    write_point(sample, family.is_count, text);
  }
  text += "]}}";
}

}  // namespace

std::string otlp_json(const std::vector<GaugeFamily>& families) {
  const OtlpJson resource = {
      {"attributes", OtlpJson::array({attribute("service.name", "aggregate-power")})}};
  const OtlpJson scope = {{"name", "aggregate-power"}, {"version", AGGREGATE_POWER_VERSION}};
  std::string text = fmt::format(
      "{{\"resourceMetrics\":[{{\"resource\":{},\"scopeMetrics\":[{{\"scope\":{},\"metrics\":[",
      dumped(resource), dumped(scope));
  for (const GaugeFamily& family : families) write_metric(family, text);
  return text + "]}]}]}\n";
}

}  // namespace aggregate_power
