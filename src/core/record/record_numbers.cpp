// Writes estimates, their components and verdicts.
#include "core/record/record_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
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

// ---- Writes a baseline, and the energy above it.

namespace {

constexpr const char* kGrossKey = "total_gpu_energy_j";
constexpr const char* kNetEnergyKey = "net_gpu_energy_j";
constexpr const char* kNetTokenKey = "joules_per_output_token_net";

// What is also given net.
constexpr std::string_view kNetRatios[] = {"joules_per_successful_query", "joules_per_output_token",
                                           "joules_per_total_token"};

struct NetEnergy {
  double gross_j = 0;
  double idle_j = 0;
  double idle_uncertainty_j = 0;
  const Estimate* gross = nullptr;  // with its interval; nullptr: there is none

  double net_j() const { return gross_j - idle_j; }
  // Both together, as if they were independent: what is wrong with a sensor is wrong in both, and
  // less in their difference. NaN: the interval of the gross energy is not known.
  double uncertainty_j() const {
    return gross == nullptr ? std::nan("")
                            : std::hypot(gross->standard_uncertainty_j(), idle_uncertainty_j);
  }
  double low_j() const { return estimate_j() - kCoverageFactor * uncertainty_j(); }
  double high_j() const { return estimate_j() + kCoverageFactor * uncertainty_j(); }

 private:
  double estimate_j() const { return gross == nullptr ? std::nan("") : gross->joules - idle_j; }
};

// Of a result with a baseline.
NetEnergy net_energy(const Result& result, const Uncertainty* interval) {
  const double duration_s = result.load->window.duration_s();
  const bool is_known = interval != nullptr && interval->energy.is_available();
  return {value_of(result.metrics, kGrossKey).value_or(0), result.idle->total.watts * duration_s,
          result.idle->total.standard_uncertainty_w * duration_s,
          is_known ? &interval->energy.total : nullptr};
}

Json with_uncertainty(const char* name, double value, double uncertainty) {
  return {{name, number_or_null(value)}, {"standard_uncertainty", number_or_null(uncertainty)}};
}

Json power_json(const Power& power) {
  return with_uncertainty("watts", power.watts, power.standard_uncertainty_w);
}

Json net_json(const NetEnergy& energy, double per_j) {
  Json json = with_uncertainty("value", energy.net_j() * per_j, energy.uncertainty_j() * per_j);
  json["low"] = number_or_null(energy.low_j() * per_j);
  json["high"] = number_or_null(energy.high_j() * per_j);
  return json;
}

void add_net_numbers(const Result& result, const Uncertainty* interval, Json& json) {
  const IdlePower& idle = *result.idle;
  JsonObject gpus;
  for (const auto& [gpu, power] : idle.gpus) gpus.set(gpu, power_json(power));
  json["per_gpu"] = std::move(gpus).take();
  json["total"] = power_json(idle.total);
  const NetEnergy energy = net_energy(result, interval);
  json["gross_energy_j"] = with_uncertainty(
      "value", energy.gross_j,
      energy.gross == nullptr ? std::nan("") : energy.gross->standard_uncertainty_j());
  json["idle_energy_j"] = with_uncertainty("value", energy.idle_j, energy.idle_uncertainty_j);
  json["net_energy_j"] = net_json(energy, 1);
  for (const std::string_view key : kNetRatios) {
    const auto ratio = value_of(result.metrics, key);
    if (!ratio) continue;
    json[std::string(key) + "_net"] = net_json(energy, *ratio / energy.gross_j);
  }
}

}  // namespace

Json idle_json(const Result& result, bool is_valid, const Uncertainty* interval) {
  const IdlePower& idle = *result.idle;
  const bool is_available = is_valid && idle.is_available();
  Json json = {{"available", is_available},
               {"reasons", is_valid ? idle.reasons : std::vector<std::string>{"power_not_valid"}},
               {"source", text_or_null(idle.source)},
               {"start_unix", Json()},
               {"end_unix", Json()}};
  if (idle.stretch) {
    json["start_unix"] = number_or_null(idle.stretch->start_unix_s);
    json["end_unix"] = number_or_null(idle.stretch->end_unix_s);
  }
  if (is_available) add_net_numbers(result, interval, json);
  return json;
}

std::vector<std::string> gpu_uuids(const Result& result) {
  std::vector<std::string> uuids;
  if (!result.telemetry || result.telemetry->gpus.size() != result.observed_gpus) return uuids;
  for (const auto& [name, key] : result.telemetry->gpus) {
    if (key.uuid.empty()) return {};
    uuids.push_back(key.uuid);
  }
  return std::ranges::is_permutation(uuids, result.observed_gpu_ids) ? std::vector<std::string>()
                                                                     : uuids;
}

Json seen_by_witnesses_json(const Result& result, bool is_valid) {
  const double duration_s = result.load->window.duration_s();
  return list_of(result.witnesses, [&](const WitnessResult& witness) -> Json {
    const bool is_known = witness.seen.fault.empty();
    const auto known = [&](double number) {
      return is_known ? number_or_null(rounded(number, kAuditDecimals)) : Json();
    };
    return {{"witness", witness.facts.name},
            {"source", witness.facts.source},
            {"scope", witness.facts.scope},
            {"file", witness.facts.file},
            {"energy_j", known(witness.seen.energy_j)},
            {"mean_power_w", known(witness.seen.energy_j / duration_s)},
            {"gpu_ratio", is_valid && witness.gpu_ratio
                              ? number_or_null(rounded(*witness.gpu_ratio, kAuditDecimals))
                              : Json()},
            {"reason", text_or_null(witness.seen.fault)}};
  });
}

Json modelled_node_json(const ModelledNode& node) {
  const auto bound = [&](double joules) { return node.energy_j ? number_or_null(joules) : Json(); };
  return {{"energy_j", number_or_null(node.energy_j)},
          {"energy_j_low", bound(node.low_j)},
          {"energy_j_high", bound(node.high_j)},
          {"is_measured", false},
          {"meter", text_or_null(node.meter)},
          {"calibration", printable_path(node.calibration)},
          {"reason", text_or_null(node.reason)}};
}

namespace {

std::string net_interval_text(const NetEnergy& energy) {
  if (energy.gross != nullptr) {
    return fmt::format(" (95 %: {:.2f} to {:.2f} J)", energy.low_j(), energy.high_j());
  }
  if (!(energy.idle_uncertainty_j > 0)) return {};
  return fmt::format(" (95 %: ±{:.2f} J by the idle power alone)",
                     kCoverageFactor * energy.idle_uncertainty_j);
}

}  // namespace

std::optional<IdleTexts> idle_texts(const Result& result) {
  if (!result.idle || !result.is_valid() || !result.idle->is_available()) return std::nullopt;
  const NetEnergy energy = net_energy(result, interval_of(result));
  const IdlePower& idle = *result.idle;
  return IdleTexts{
      fmt::format("{:.2f} W together ({}{})", idle.total.watts, idle.source,
                  idle.stretch ? fmt::format(", {:.1f} s", idle.stretch->duration_s()) : ""),
      fmt::format("{:.2f} J above {:.2f} J{}", energy.net_j(), energy.idle_j,
                  net_interval_text(energy))};
}

std::optional<std::string> idle_text(const Result& result) {
  const auto texts = idle_texts(result);
  return texts ? std::optional(fmt::format("idle {}; net {}", texts->idle, texts->net))
               : std::nullopt;
}

std::vector<JsonEdit> idle_edits(const Result& result) {
  if (!result.idle || !result.is_valid() || !result.idle->is_available()) return {};
  const NetEnergy energy = net_energy(result, nullptr);
  std::vector<JsonEdit> edits = {{kNetEnergyKey, json_number(rounded(energy.net_j(), 3))}};
  if (const auto ratio = value_of(result.metrics, "joules_per_output_token")) {
    const double net = *ratio / energy.gross_j * energy.net_j();
    edits.push_back({kNetTokenKey, json_number(rounded(net, 6))});
  }
  return edits;
}

std::vector<std::string_view> idle_keys() { return {kNetEnergyKey, kNetTokenKey}; }

// ---- Rounds bounds as the record does.

Json metric_intervals_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    if (!metric.interval) continue;
    const auto audited = [](double value) {
      return number_or_null(rounded(value, kAuditDecimals));
    };
    Json components = Json::object();
    for (const auto& [name, half_width] : metric.interval->components) {
      components[std::string(name)] = audited(half_width);
    }
    json[std::string(metric.key)] = {{"low", audited(metric.interval->low)},
                                     {"high", audited(metric.interval->high)},
                                     {"components", std::move(components)}};
  }
  return json;
}

}  // namespace aggregate_power
