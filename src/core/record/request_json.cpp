// Writes the energy of requests and phases.
#include "core/record/request_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr const char* kNotValid = "power_not_valid";

// What is known to be a number.
Json known_or_null(double value) { return number_or_null(value); }

Json tokens_or_null(std::int64_t tokens) { return tokens < 0 ? Json() : Json(tokens); }

Json phase_json(const PhasePower& power, const char* watts) {
  return {{watts, known_or_null(power.watts)},
          {"standard_error", known_or_null(power.standard_error_w)},
          {"energy_j", known_or_null(power.energy_j)},
          {"energy_standard_error_j", known_or_null(power.energy_standard_error_j)}};
}

std::string shown_power(const PhasePower& power) {
  return fmt::format("{:.1f} W ± {:.1f} W", power.watts, 1.96 * power.standard_error_w);
}

}  // namespace

Json request_energy_json(const RequestEnergy& energy, bool is_valid) {
  std::vector<std::string> refused = energy.refused;
  if (!is_valid && refused.empty()) refused.emplace_back(kNotValid);
  Json json = {{"method", name(energy.share)},
               {"source", printable_path(energy.source)},
               {"requests", energy.requests}};
  if (refused.empty()) {
    json["unattributed_j"] = number_or_null(energy.unattributed_j);
    if (energy.unresolved_j) json["unresolved_j"] = known_or_null(*energy.unresolved_j);
    json["mean_j"] = known_or_null(energy.mean_j);
    json["p50_j"] = known_or_null(energy.p50_j);
    json["p95_j"] = known_or_null(energy.p95_j);
    json["failed_j"] = known_or_null(energy.failed_j);
    json["requests_without_times"] = energy.without_times;
    json["requests_without_interval"] = energy.without_bounds;
    json["assumptions"] = energy.assumptions;
  }
  json["refused"] = std::move(refused);
  return json;
}

Json phase_energy_json(const PhaseEnergy& energy, bool is_valid) {
  if (!energy.refused.empty()) return {{"refused", energy.refused}};
  if (!is_valid) return {{"refused", {kNotValid}}};
  const bool is_counts = energy.model == PhaseModel::counts;
  const char* const watts = is_counts ? "watts_each" : "watts";
  Json prefill = phase_json(energy.prefill, watts);
  prefill["joules_per_input_token"] = number_or_null(energy.joules_per_input_token);
  Json decode = phase_json(energy.decode, watts);
  if (energy.further_decode) {
    decode["watts_per_further_request"] = known_or_null(energy.further_decode->watts);
    decode["further_standard_error"] = known_or_null(energy.further_decode->standard_error_w);
  }
  decode["joules_per_output_token"] = number_or_null(energy.joules_per_output_token);
  return {{"model", name(energy.model)},
          {"r2", known_or_null(energy.r2)},
          {"condition", known_or_null(energy.condition)},
          {"sensor_window_s", known_or_null(energy.sensor_window_s)},
          {"idle", energy.idle ? phase_json(*energy.idle, "watts") : Json()},
          {"prefill", std::move(prefill)},
          {"decode", std::move(decode)},
          {"unexplained_j", known_or_null(energy.unexplained_j)},
          {"assumptions", energy.assumptions},
          {"refused", Json::array()}};
}

void RequestLine::set_interval(const PlacedInterval& interval) {
  no_interval = interval.none;
  if (!no_interval.empty()) {
    energy_j.reset();
    return;
  }
  low_j = interval.low_j;
  high_j = interval.high_j;
}

std::string request_line(const RequestLine& line) {
  const RequestTimes& request = line.request;
  Json json = {{"id", request.id.empty() ? Json(line.number) : Json(request.id)},
               {"start_unix", known_or_null(request.start_s)},
               {"first_token_unix", known_or_null(request.first_token_s)},
               {"end_unix", known_or_null(request.end_s)},
               {"ok", !request.failed},
               {"input_tokens", tokens_or_null(request.input_tokens)},
               {"output_tokens", tokens_or_null(request.output_tokens)},
               {"energy_j", number_or_null(line.energy_j)},
               {"energy_j_low", number_or_null(line.low_j)},
               {"energy_j_high", number_or_null(line.high_j)},
               {"share", name(line.share)}};
  if (!line.no_interval.empty()) json["no_interval"] = line.no_interval;
  if (request.is_warm_up) json["warm_up"] = true;
  return line_text(json) + '\n';
}

std::string request_energy_text(const RequestEnergy& energy) {
  if (!energy.refused.empty()) {
    return fmt::format("no energy of requests: {}", fmt::join(energy.refused, ", "));
  }
  std::string text = fmt::format(
      "{} requests: mean {:.2f} J, median {:.2f} J, 95th percentile {:.2f} J; {:.2f} J while none was in flight",
      energy.requests, energy.mean_j, energy.p50_j, energy.p95_j,
      energy.unattributed_j.value_or(0));
  if (energy.unresolved_j && energy.without_bounds > 0) {
    text += fmt::format("; {} of them are too short for the sensor, {:.2f} J together",
                        energy.without_bounds, *energy.unresolved_j);
  }
  return text;
}

std::string phase_energy_text(const PhaseEnergy& energy) {
  if (!energy.refused.empty()) {
    return fmt::format("no power of prefill and decode: {}", fmt::join(energy.refused, ", "));
  }
  const bool is_counts = energy.model == PhaseModel::counts;
  const char* const whose = is_counts ? " for each request in flight" : "";
  const auto per_token = [](const std::optional<double>& joules, const char* which) {
    return joules ? fmt::format(", {:.6g} J per {} token", *joules, which) : std::string();
  };
  return fmt::format(
      "prefill {}{}{}; decode {}{}{}; model {}, r2 {:.3f}", shown_power(energy.prefill), whose,
      per_token(energy.joules_per_input_token, "input"), shown_power(energy.decode), whose,
      per_token(energy.joules_per_output_token, "output"), name(energy.model), energy.r2);
}

std::vector<std::string> request_texts(const Result& result) {
  std::vector<std::string> texts;
  if (result.request_energy) texts.push_back(request_energy_text(*result.request_energy));
  if (result.phase_energy) texts.push_back(phase_energy_text(*result.phase_energy));
  return texts;
}

}  // namespace aggregate_power
