// Writes estimates, their components and verdicts.
#include "core/record/record_numbers.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/json_parts.h"
#include "base/text/json.h"

namespace aggregate_power {
namespace {

constexpr double kLevel = 0.95;
constexpr const char* kEnergyKey = "total_gpu_energy_j";

// All are energies divided by an exact number.
constexpr std::string_view kDividedKeys[] = {"avg_power_w",
                                             "avg_total_gpu_power_w",
                                             "joules_per_successful_query",
                                             "joules_per_input_token",
                                             "joules_per_output_token",
                                             "joules_per_total_token"};

// The keys of the aggregate whose bounds go there.
constexpr std::string_view kBoundedKeys[] = {kEnergyKey, "joules_per_output_token"};

struct Bound {
  std::string_view end;
  double (Estimate::*value)() const;
  bool is_low;
};
constexpr Bound kBounds[] = {{"_low", &Estimate::low_j, true},
                             {"_high", &Estimate::high_j, false},
                             {"_repeatability_low", &Estimate::repeatability_low_j, true},
                             {"_repeatability_high", &Estimate::repeatability_high_j, false}};

// `unit_per_j` converts to another quantity.
Json interval_json(double published, const Estimate& estimate, double unit_per_j) {
  const auto scaled = [&](double joules) { return number_or_null(joules * unit_per_j); };
  return {{"published", number_or_null(published)},
          {"estimate", scaled(estimate.joules)},
          {"standard_uncertainty", scaled(estimate.standard_uncertainty_j())},
          {"low", scaled(estimate.low_j())},
          {"high", scaled(estimate.high_j())},
          {"repeatability",
           {{"standard_uncertainty", scaled(estimate.repeatability_j())},
            {"low", scaled(estimate.repeatability_low_j())},
            {"high", scaled(estimate.repeatability_high_j())}}}};
}

Json energy_json(double published_j, const Estimate& estimate) {
  Json json = interval_json(published_j, estimate, 1);
  json["components"] = components_json(estimate);
  return json;
}

Json sensor_json(const UnderstoodSensor& sensor, const GpuEstimate& gpu) {
  return {{"name", text_or_null(sensor.model)},
          {"known_from", text_or_null(sensor.known_from)},
          {"column", sensor.column},
          {"window_s", sensor.windows_s},
          {"refresh_s", sensor.refresh_s},
          {"refresh_observed_s", number_or_null(gpu.refresh_observed_s)},
          {"stale_share", gpu.stale_share},
          {"stamps", sensor.stamps}};
}

Json counter_json(const UnderstoodSensor& sensor, const GpuEstimate& gpu) {
  if (!gpu.counter) return nullptr;
  return {{"used", gpu.counter->used},
          {"column", or_null(sensor.counter_column)},
          {"energy_j", number_or_null(gpu.counter->energy_j)},
          {"disagreement", number_or_null(gpu.counter->disagreement)}};
}

Json gpus_json(const Uncertainty& uncertainty) {
  JsonObject gpus;
  for (std::size_t i = 0; i < uncertainty.energy.gpus.size(); ++i) {
    const GpuEstimate& gpu = uncertainty.energy.gpus[i];
    gpus.set(gpu.name, {{"energy_j", energy_json(gpu.published_j, gpu.energy)},
                        {"sensor", sensor_json(uncertainty.sensors[i], gpu)},
                        {"counter", counter_json(uncertainty.sensors[i], gpu)},
                        {"verdicts", gpu.verdicts}});
  }
  return std::move(gpus).take();
}

Json verdicts_json(const std::vector<Verdict>& verdicts) {
  return list_of(verdicts, [&](const Verdict& verdict) -> Json {
    return {{"code", verdict.code}, {"gpus", verdict.gpus}, {"detail", verdict.detail}};
  });
}

Json corrections_json(const std::vector<Correction>& corrections) {
  return list_of(corrections, [&](const Correction& correction) -> Json {
    return {{"name", correction.name}, {"joules", number_or_null(correction.joules)}};
  });
}

// Metric units for one joule; nullopt: there is no such metric.
std::optional<double> unit_per_joule(const Result& result, std::string_view key) {
  const std::optional<double> value = value_of(result.metrics, key);
  const std::optional<double> energy_j = value_of(result.metrics, kEnergyKey);
  if (!value || !energy_j || *energy_j <= 0) return std::nullopt;
  return *value / *energy_j;
}

void add_numbers(const Result& result, Json& json) {
  const EnergyEstimate& energy = interval_of(result)->energy;
  json["method"] = energy.method;
  json["level"] = kLevel;
  json["coverage_factor"] = kCoverageFactor;
  json["boundary"] = "gpu_boards_as_reported";
  json[kEnergyKey] =
      energy_json(value_of(result.metrics, kEnergyKey).value_or(energy.published_j), energy.total);
  for (const std::string_view key : kDividedKeys) {
    const std::optional<double> factor = unit_per_joule(result, key);
    if (!factor) continue;
    json[std::string(key)] = interval_json(*value_of(result.metrics, key), energy.total, *factor);
  }
  json["per_gpu"] = gpus_json(*interval_of(result));
  json["corrections"] = corrections_json(energy.corrections);
  json["verdicts"] = verdicts_json(energy.verdicts);
  json["assumptions"] = energy.assumptions;
}

int decimals_of(const Result& result, std::string_view key) {
  for (const Metric& metric : result.metrics) {
    if (metric.key == key) return metric.decimals;
  }
  return 6;
}

double rounded_outwards(double value, int decimals, bool is_low) {
  const double scale = std::pow(10, decimals);
  const double steps = is_low ? std::floor(value * scale) : std::ceil(value * scale);
  return rounded(steps / scale, decimals);
}

}  // namespace

Json components_json(const Estimate& estimate) {
  return list_of(estimate.components, [&](const Component& component) -> Json {
    return {{"name", component.name},
            {"kind", component.systematic ? "systematic" : "random"},
            {"shared", component.shared},
            {"evaluation", std::string(1, component.evaluation)},
            {"relative", number_or_null(component.joules / estimate.joules)}};
  });
}

Json uncertainty_json(const Result& result, bool is_valid) {
  const Uncertainty& uncertainty = *interval_of(result);
  const bool is_available = is_valid && uncertainty.energy.is_available();
  std::vector<std::string> reasons = uncertainty.energy.reasons;
  if (!is_valid) reasons = {"power_not_valid"};
  Json json = {{"available", is_available}, {"reasons", reasons}};
  if (is_available) {
    add_numbers(result, json);
  } else if (!uncertainty.advice.empty()) {
    json["advice"] = uncertainty.advice;
  }
  return json;
}

std::vector<JsonEdit> uncertainty_edits(const Result& result) {
  std::vector<JsonEdit> edits;
  if (!result.uncertainty || !result.is_valid() || !result.uncertainty->energy.is_available()) {
    return edits;
  }
  const EnergyEstimate& energy = result.uncertainty->energy;
  for (const std::string_view key : kBoundedKeys) {
    const std::optional<double> factor = unit_per_joule(result, key);
    if (!factor) continue;
    for (const Bound& bound : kBounds) {
      const double value = (energy.total.*bound.value)() * *factor;
      if (!std::isfinite(value)) continue;
      edits.push_back(
          {std::string(key) + std::string(bound.end),
           json_number(rounded_outwards(value, decimals_of(result, key), bound.is_low))});
    }
  }
  edits.push_back(
      {"power_verdicts", line_text(list_of(energy.verdicts, [&](const Verdict& verdict) -> Json {
         return verdict.code;
       }))});
  return edits;
}

std::vector<std::string_view> uncertainty_keys() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made;
    for (const std::string_view key : kBoundedKeys) {
      for (const Bound& bound : kBounds) made.push_back(std::string(key) + std::string(bound.end));
    }
    made.emplace_back("power_verdicts");
    return made;
  }();
  return {texts.begin(), texts.end()};
}

}  // namespace aggregate_power
