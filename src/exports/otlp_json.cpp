// Writes resourceMetrics, scopeMetrics, metrics, dataPoints; 64-bit integers are strings.
#include "exports/otlp_json.h"

#include <cmath>
#include <cstdint>

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

OtlpJson data_point(const GaugeSample& sample, bool is_count) {
  OtlpJson attributes = OtlpJson::array();
  for (const GaugeLabel& label : sample.labels) {
    attributes.push_back(attribute(label.name, label.value));
  }
  OtlpJson point = {{"attributes", std::move(attributes)}};
  if (sample.start_unix_s > 0) point["startTimeUnixNano"] = nanoseconds(sample.start_unix_s);
  point["timeUnixNano"] = nanoseconds(sample.end_unix_s);
  if (is_count) {
    point["asInt"] = fmt::format("{:.0f}", sample.value);
  } else {
    point["asDouble"] = sample.value;
  }
  return point;
}

OtlpJson metric_of(const GaugeFamily& family) {
  OtlpJson points = OtlpJson::array();
  for (const GaugeSample& sample : family.samples) {
    if (sample.end_unix_s > 0) points.push_back(data_point(sample, family.is_count));
  }
  if (points.empty()) return nullptr;
  return {{"name", "aggregate_power." + family.name},
          {"description", family.help},
          {"unit", ucum(family.unit)},
          {"gauge", {{"dataPoints", std::move(points)}}}};
}

}  // namespace

std::string otlp_json(const std::vector<GaugeFamily>& families) {
  OtlpJson metrics = OtlpJson::array();
  for (const GaugeFamily& family : families) {
    OtlpJson metric = metric_of(family);
    if (!metric.is_null()) metrics.push_back(std::move(metric));
  }
  OtlpJson scope = {{"scope", {{"name", "aggregate-power"}, {"version", AGGREGATE_POWER_VERSION}}},
                    {"metrics", std::move(metrics)}};
  OtlpJson resource = {
      {"resource",
       {{"attributes", OtlpJson::array({attribute("service.name", "aggregate-power")})}}},
      {"scopeMetrics", OtlpJson::array({std::move(scope)})}};
  const OtlpJson all = {{"resourceMetrics", OtlpJson::array({std::move(resource)})}};
  return all.dump(-1, ' ', true, OtlpJson::error_handler_t::replace) + "\n";
}

}  // namespace aggregate_power
