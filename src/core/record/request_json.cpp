// Writes the energy of requests, of phases and of good work.
#include "core/record/request_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/shown_number.h"

namespace aggregate_power {
namespace {

constexpr const char* kNotValid = "power_not_valid";
constexpr const char* kNoEnergy = "the run has no energy";

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

// ---- Good work

namespace {

std::optional<EnergyRatio> missed_share(const GoodWork& work) {
  if (!work.missed_j || !work.energy_j || !(*work.energy_j > 0)) return std::nullopt;
  EnergyRatio ratio{*work.missed_j / *work.energy_j, {}};
  if (const auto& bounds = work.missed_bounds_j) {
    ratio.bounds =
        Interval{bounds->low / *work.energy_j, std::min(1.0, bounds->high / *work.energy_j)};
  }
  return ratio;
}

Json slo_limit_json(const GoodWork& work, const SloLimit& limit, std::size_t i) {
  return {{"limit", name(limit.kind)},
          {"most_s", limit.most_s},
          {"share", limit.share},
          {"requests", work.kept[i]},
          {"holds", work.holds(limit, i)}};
}

std::string count_text(std::size_t count, const char* what) {
  return count > 0 ? fmt::format(", {} {}", count, what) : std::string();
}

}  // namespace

std::optional<EnergyRatio> energy_per(const GoodWork& work, std::optional<double> count) {
  if (!work.refused.empty() || !work.energy_j || !count || !(*count > 0)) return std::nullopt;
  EnergyRatio ratio{*work.energy_j / *count, {}};
  if (const auto& bounds = work.energy_bounds_j) {
    ratio.bounds = Interval{bounds->low / *count, bounds->high / *count};
  }
  return ratio;
}

void set_ratio(const std::string& key, const std::optional<EnergyRatio>& ratio, Json& json) {
  const auto number = [](std::optional<double> value) {
    return value ? number_or_null(rounded(*value, kAuditDecimals)) : Json();
  };
  const bool has_bounds = ratio && ratio->bounds;
  json[key] = number(ratio ? std::optional(ratio->value) : std::nullopt);
  json[key + "_low"] = number(has_bounds ? std::optional(ratio->bounds->low) : std::nullopt);
  json[key + "_high"] = number(has_bounds ? std::optional(ratio->bounds->high) : std::nullopt);
}

std::string energy_ratio_text(const EnergyRatio& ratio, std::string_view unit, double factor) {
  if (!ratio.bounds) return fmt::format("{}{}", shown_number(factor * ratio.value), unit);
  return fmt::format("{}{} ({} to {})", shown_number(factor * ratio.value), unit,
                     shown_number(factor * ratio.bounds->low),
                     shown_number(factor * ratio.bounds->high));
}

std::vector<std::pair<std::string, double>> good_numbers(const GoodWork& work) {
  std::vector<std::pair<std::string, double>> numbers;
  if (!work.refused.empty() || work.requests == 0) return numbers;
  const auto good = static_cast<double>(work.good);
  numbers.emplace_back("slo_attainment", good / static_cast<double>(work.requests));
  numbers.emplace_back("goodput_requests_per_s", work.per_second(good));
  if (work.output_tokens) {
    numbers.emplace_back("goodput_output_tokens_per_s", work.per_second(*work.output_tokens));
  }
  const auto add_joules = [&](const char* key, std::optional<double> count) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (!work.energy_j || !count) return;
    numbers.emplace_back(key, *count > 0 ? *work.energy_j / *count : kInfinite);
  };
  add_joules("joules_per_good_request", good);
  add_joules("joules_per_good_output_token", work.output_tokens);
  return numbers;
}

Json good_work_json(GoodWork work, bool is_valid) {
  if (!is_valid) work.energy_j.reset();
  Json json = {{"slo", work.slo.text()},
               {"source", text_or_null(printable_path(work.source))},
               {"refused", text_or_null(work.refused)},
               {"why", text_or_null(work.why)}};
  if (!work.refused.empty()) return json;
  const Interval& share = work.good_share;
  json["holds"] = work.holds();
  json["requests"] = work.requests;
  json["good_requests"] = work.good;
  json["late_requests"] = work.late;
  json["failed_requests"] = work.failed;
  json["unknown_requests"] = work.unknown;
  json["outside_requests"] = work.outside;
  json["warm_up_requests"] = work.warm_up;
  json["cancelled_requests"] = work.cancelled;
  json["limits"] = Json::array();
  for (std::size_t i = 0; i < work.slo.limits.size(); ++i) {
    json["limits"].push_back(slo_limit_json(work, work.slo.limits[i], i));
  }
  set_ratio("slo_attainment",
            EnergyRatio{static_cast<double>(work.good) / static_cast<double>(work.requests), share},
            json);
  json["good_output_tokens"] =
      work.output_tokens ? Json(rounded(*work.output_tokens, kAuditDecimals)) : Json();
  const auto rate = [&](std::optional<double> count) {
    return count ? Json(rounded(work.per_second(*count), kAuditDecimals)) : Json();
  };
  json["goodput_requests_per_s"] = rate(static_cast<double>(work.good));
  json["goodput_output_tokens_per_s"] = rate(work.output_tokens);
  set_ratio("joules_per_good_request", energy_per(work, static_cast<double>(work.good)), json);
  set_ratio("joules_per_good_output_token", energy_per(work, work.output_tokens), json);
  set_ratio("missed_energy_share", missed_share(work), json);
  json["assumptions"] = work.assumptions;
  return json;
}

std::vector<std::string> good_work_texts(const GoodWork& work) {
  if (!work.refused.empty()) return {fmt::format("{}: {}", work.refused, work.why)};
  const Interval& share = work.good_share;
  std::vector<std::string> texts = {fmt::format(
      "{} {}: {} of {} requests are good, {:.1f} % ({:.1f} to {:.1f}){}{}{}", work.slo.text(),
      work.holds() ? "holds" : "does not hold", work.good, work.requests,
      100 * static_cast<double>(work.good) / static_cast<double>(work.requests), 100 * share.low,
      100 * share.high, count_text(work.late, "late"), count_text(work.failed, "failed"),
      count_text(work.unknown, "unknown"))};
  std::string rates = fmt::format("{} good requests/s",
                                  shown_number(work.per_second(static_cast<double>(work.good))));
  if (work.output_tokens) {
    rates += fmt::format(", {} good output tokens/s",
                         shown_number(work.per_second(*work.output_tokens)));
  }
  texts.push_back(rates);
  if (const auto ratio = energy_per(work, work.output_tokens)) {
    texts.push_back(energy_ratio_text(*ratio, " J per good output token"));
  }
  if (const auto ratio = energy_per(work, static_cast<double>(work.good))) {
    texts.push_back(energy_ratio_text(*ratio, " J per good request"));
  }
  if (const auto ratio = missed_share(work)) {
    texts.push_back(energy_ratio_text(*ratio, " %", 100) +
                    " of the energy for requests that missed it");
  }
  return texts;
}

Json correct_answers_json(CorrectAnswers correct, bool is_valid) {
  if (!is_valid) {
    correct.joules.reset();
    correct.refused = kNoEnergy;
  }
  const AnswerQuality& quality = correct.quality;
  Json json = {{"source", text_or_null(printable_path(quality.source))},
               {"evaluator", quality.evaluator},
               {"of", quality.what},
               {"model", text_or_null(quality.model)},
               {"questions", quality.questions}};
  set_ratio("accuracy", EnergyRatio{quality.accuracy, correct.accuracy_bounds}, json);
  const auto ratio =
      correct.joules ? std::optional(EnergyRatio{*correct.joules, correct.bounds}) : std::nullopt;
  set_ratio("joules_per_correct_answer", ratio, json);
  json["refused"] = text_or_null(correct.refused);
  return json;
}

std::vector<std::string> correct_answers_texts(const CorrectAnswers& correct) {
  const AnswerQuality& quality = correct.quality;
  std::vector<std::string> texts = {fmt::format(
      "{} of {} answers ({}; {})",
      energy_ratio_text(EnergyRatio{quality.accuracy, correct.accuracy_bounds}, " %", 100),
      quality.questions, printable(quality.what, 100),
      quality.source.empty() ? quality.evaluator : printable_path(quality.source))};
  texts.push_back(correct.joules ? energy_ratio_text(EnergyRatio{*correct.joules, correct.bounds},
                                                     " J per correct answer")
                                 : "no joules per correct answer: " + correct.refused);
  return texts;
}

namespace {

// The first of each is there whenever one is that no one else writes.
constexpr std::string_view kSloKeys[] = {"slo_attainment",          "slo",
                                         "goodput_requests_per_s",  "goodput_output_tokens_per_s",
                                         "joules_per_good_request", "joules_per_good_output_token",
                                         "missed_energy_share"};
constexpr std::string_view kAnswerKeys[] = {"joules_per_correct_answer", "accuracy",
                                            "accuracy_questions"};

}  // namespace

std::vector<JsonEdit> good_work_edits(const Result& result) {
  std::vector<JsonEdit> edits;
  if (!result.is_valid()) return edits;
  const auto set = [&](std::string_view key, double value) {
    if (!std::isfinite(value)) return;
    edits.push_back({std::string(key), json_number(rounded(value, kAuditDecimals))});
  };
  if (result.good_work && result.good_work->refused.empty()) {
    GoodWork work = *result.good_work;
    edits.push_back({"slo", line_text(work.slo.text())});
    const auto share = missed_share(work);
    work.energy_j = value_of(result.metrics, "total_gpu_energy_j");
    for (const auto& [key, value] : good_numbers(work)) set(key, value);
    if (share) set("missed_energy_share", share->value);
  }
  if (const auto& correct = result.answers) {
    set("accuracy", correct->quality.accuracy);
    edits.push_back({"accuracy_questions", std::to_string(correct->quality.questions)});
    const auto each_j = value_of(result.metrics, "joules_per_successful_query");
    if (each_j) set("joules_per_correct_answer", *each_j / correct->quality.accuracy);
  }
  return edits;
}

std::vector<std::vector<std::string_view>> good_work_keys() {
  return {{std::begin(kSloKeys), std::end(kSloKeys)},
          {std::begin(kAnswerKeys), std::end(kAnswerKeys)}};
}

}  // namespace aggregate_power
