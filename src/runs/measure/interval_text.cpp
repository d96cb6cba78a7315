// Rounds numbers to what people read, and says in words what their interval rests on.
#include "runs/measure/interval_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/facility.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "core/model/code_descriptions.h"

namespace aggregate_power::results {
namespace {

constexpr std::string_view kEnergyKey = "total_gpu_energy_j";

// "J", "kJ", "MJ" or "GJ", and its size.
std::pair<std::string_view, double> unit_for(double joules) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}};
  const auto larger = std::find_if(std::begin(kUnits) + 1, std::end(kUnits),
                                   [&](const auto& unit) { return joules < unit.second; });
  return *std::prev(larger);
}

// Why there is no interval, and what to do.
std::string lack_of_interval(const Uncertainty& uncertainty) {
  if (!uncertainty.advice.empty()) return uncertainty.advice.front();
  const std::string& code = uncertainty.energy.reasons.front();
  const ExplainedWord* const word = word_in(interval_refusals(), code);
  return word == nullptr ? code : std::string(word->rule);
}

// Others say nothing about the energy, or the numbers themselves show it.
bool concerns_energy(const Verdict& verdict) {
  constexpr std::string_view kOthers[] = {"steady_state",     "not_steady",
                                          "power_capped",     "second_die",
                                          "published_biased", "published_outside_interval"};
  return std::ranges::find(kOthers, verdict.code) == std::end(kOthers);
}

std::string words_of(const Verdict& verdict, const EnergyEstimate& energy) {
  std::string text = verdict.detail;
  if (verdict.code == "sensor_unknown") {
    text = "whether the sensor averages is unknown: name the GPUs with --gpu-model";
  } else if (text.empty()) {
    const ExplainedWord* const word = word_in(verdict_words(), verdict.code);
    text = word == nullptr ? verdict.code : std::string(word->rule);
  }
  if (verdict.gpus.empty() || verdict.gpus.size() == energy.gpus.size()) return text;
  constexpr std::size_t kMostCharacters = 60;
  const std::string gpus = joined_text(verdict.gpus, ", ");
  return fmt::format("GPU {}: {}", printable(gpus, kMostCharacters), text);
}

std::string add_words(std::string text, const Result& result) {
  const Uncertainty* const uncertainty = interval_of(result);
  if (uncertainty == nullptr || !uncertainty->energy.is_available()) return text;
  for (const Verdict& verdict : uncertainty->energy.verdicts) {
    if (concerns_energy(verdict)) text += "; " + words_of(verdict, uncertainty->energy);
  }
  return text;
}

std::string percent_text(double share) {
  const double percent = 100 * std::abs(share);
  return percent < 99.5 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string bounds_text(const Interval& bounds) {
  return fmt::format("{} to {}", shown_number(bounds.low), shown_number(bounds.high));
}

// How far the published number is from the estimate, unless both are the same to four digits.
std::string published_difference(const BestNumber& best, double published) {
  if (!best.is_estimate || shown_number(best.value) == shown_number(published)) return {};
  const double share = published / best.value - 1;
  return fmt::format(" is published, {} {}", percent_text(share), share < 0 ? "less" : "more");
}

}  // namespace

BestNumber best_number(const Result& result, const Metric& metric) {
  const Uncertainty* const uncertainty = interval_of(result);
  const auto energy_j = value_of(result.metrics, kEnergyKey);
  const bool has_estimate = result.is_valid() && uncertainty != nullptr &&
                            uncertainty->energy.is_available() && energy_j && *energy_j > 0;
  if (!has_estimate) return {metric.value, metric.interval};
  const Estimate& total = uncertainty->energy.total;
  const double per_j = metric.value / *energy_j;
  return {total.joules * per_j, Interval{total.low_j() * per_j, total.high_j() * per_j}, true};
}

std::string energy_text(const Result& result, const Metric& energy) {
  const BestNumber best = best_number(result, energy);
  const auto [unit, size] = unit_for(best.value);
  std::string text = fmt::format("{} {}", shown_number(best.value / size), unit);
  const Uncertainty* const uncertainty = interval_of(result);
  if (best.is_estimate) {
    const Estimate& total = uncertainty->energy.total;
    const double half_j = (total.repeatability_high_j() - total.repeatability_low_j()) / 2;
    return fmt::format("{}  (95 %: {} {}; \u00B1{} between runs on these GPUs)", text,
                       bounds_text({best.bounds->low / size, best.bounds->high / size}), unit,
                       percent_text(half_j / best.value));
  }
  if (best.bounds) {
    return fmt::format("{}  ({} {}, by the place of the window)", text,
                       bounds_text({best.bounds->low / size, best.bounds->high / size}), unit);
  }
  if (uncertainty == nullptr || !result.is_valid()) return text;
  return text + fmt::format("  (no interval: {})", lack_of_interval(*uncertainty));
}

std::string published_text(const Result& result, const Metric& energy) {
  return add_words(
      fmt::format("{:.1f} J ({:.3f} Wh){}", energy.value, energy.value / kJoulesInWattHour,
                  published_difference(best_number(result, energy), energy.value)),
      result);
}

std::string ratio_text(const Result& result, const Metric& ratio, std::string_view what) {
  const BestNumber best = best_number(result, ratio);
  std::string text = fmt::format("{} J per {}", shown_number(best.value), what);
  return best.bounds ? text + fmt::format("  ({})", bounds_text(*best.bounds)) : text;
}

std::vector<ShownRatio> ratios_of(const Result& result) {
  constexpr std::pair<std::string_view, std::string_view> kRatios[] = {
      {"joules_per_output_token", "output token"},
      {"joules_per_input_token", "input token"},
      {"joules_per_total_token", "token in or out"},
      {"joules_per_successful_query", "request"}};
  std::vector<ShownRatio> ratios;
  for (const auto& [key, what] : kRatios) {
    const auto found = std::ranges::find(result.metrics, key, &Metric::key);
    if (found != result.metrics.end()) ratios.push_back({&*found, what});
  }
  return ratios;
}

std::string rates_text(const Result& result) {
  std::vector<std::string> texts;
  for (const ShownRatio& ratio : ratios_of(result)) {
    const double joules = best_number(result, *ratio.metric).value;
    if (!(joules > 0)) continue;
    if (ratio.what == "output token") {
      texts.push_back(fmt::format("{} output tokens per joule", shown_number(1 / joules)));
      texts.push_back(fmt::format("{} Wh per 1,000 output tokens",
                                  shown_number(1000 * joules / kJoulesInWattHour)));
    } else if (ratio.what == "request") {
      texts.push_back(fmt::format("{} Wh per request", shown_number(joules / kJoulesInWattHour)));
    }
  }
  return joined_text(texts, ", ");
}

std::string interval_line(const Result& result) {
  const auto energy = std::ranges::find(result.metrics, kEnergyKey, &Metric::key);
  const bool is_wanted = interval_of(result) != nullptr && result.is_valid();
  if (!is_wanted || energy == result.metrics.end()) return {};
  std::string line = "energy " + energy_text(result, *energy);
  for (const ShownRatio& ratio : ratios_of(result)) {
    line += "; " + ratio_text(result, *ratio.metric, ratio.what);
  }
  return add_words(std::move(line), result);
}

}  // namespace aggregate_power::results
