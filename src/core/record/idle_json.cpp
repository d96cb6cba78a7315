// Writes a baseline, and the energy above it.
#include "core/record/idle_json.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/json.h"

namespace aggregate_power {
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
  double uncertainty_j = 0;  // what the baseline adds

  double net_j() const { return gross_j - idle_j; }
};

// Of a result with a baseline.
NetEnergy net_energy(const Result& result) {
  const double duration_s = result.load->window.duration_s();
  return {value_of(result.metrics, kGrossKey).value_or(0), result.idle->total.watts * duration_s,
          result.idle->total.standard_uncertainty_w * duration_s};
}

Json with_uncertainty(const char* name, double value, double uncertainty) {
  return {{name, number_or_null(value)}, {"standard_uncertainty", number_or_null(uncertainty)}};
}

Json power_json(const Power& power) {
  return with_uncertainty("watts", power.watts, power.standard_uncertainty_w);
}

void add_net_numbers(const Result& result, Json& json) {
  const IdlePower& idle = *result.idle;
  JsonObject gpus;
  for (const auto& [gpu, power] : idle.gpus) gpus.set(gpu, power_json(power));
  json["per_gpu"] = std::move(gpus).take();
  json["total"] = power_json(idle.total);
  const NetEnergy energy = net_energy(result);
  json["gross_energy_j"] = with_uncertainty("value", energy.gross_j, 0);
  json["idle_energy_j"] = with_uncertainty("value", energy.idle_j, energy.uncertainty_j);
  json["net_energy_j"] = with_uncertainty("value", energy.net_j(), energy.uncertainty_j);
  for (const std::string_view key : kNetRatios) {
    const auto ratio = value_of(result.metrics, key);
    if (!ratio) continue;
    const double per_j = *ratio / energy.gross_j;
    json[std::string(key) + "_net"] =
        with_uncertainty("value", energy.net_j() * per_j, energy.uncertainty_j * per_j);
  }
}

}  // namespace

Json idle_json(const Result& result, bool is_valid) {
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
  if (is_available) add_net_numbers(result, json);
  return json;
}

std::optional<IdleTexts> idle_texts(const Result& result) {
  if (!result.idle || !result.is_valid() || !result.idle->is_available()) return std::nullopt;
  const NetEnergy energy = net_energy(result);
  const IdlePower& idle = *result.idle;
  return IdleTexts{
      fmt::format("{:.2f} W together ({}{})", idle.total.watts, idle.source,
                  idle.stretch ? fmt::format(", {:.1f} s", idle.stretch->duration_s()) : ""),
      fmt::format("{:.2f} J above {:.2f} J, give or take {:.2f} J", energy.net_j(), energy.idle_j,
                  energy.uncertainty_j)};
}

std::optional<std::string> idle_text(const Result& result) {
  const auto texts = idle_texts(result);
  return texts ? std::optional(fmt::format("idle {}; net {}", texts->idle, texts->net))
               : std::nullopt;
}

std::vector<JsonEdit> idle_edits(const Result& result) {
  if (!result.idle || !result.is_valid() || !result.idle->is_available()) return {};
  const NetEnergy energy = net_energy(result);
  std::vector<JsonEdit> edits = {{kNetEnergyKey, json_number(rounded(energy.net_j(), 3))}};
  if (const auto ratio = value_of(result.metrics, "joules_per_output_token")) {
    const double net = *ratio / energy.gross_j * energy.net_j();
    edits.push_back({kNetTokenKey, json_number(rounded(net, 6))});
  }
  return edits;
}

std::vector<std::string_view> idle_keys() { return {kNetEnergyKey, kNetTokenKey}; }

}  // namespace aggregate_power
