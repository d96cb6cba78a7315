// Prices published runs.
#include "decide/compare/facility.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "energy/shares/facility.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kFacilityKeys[] = {"facility_energy_j", "cost", "carbon_gco2e"};
constexpr std::string_view kPerTokens[] = {"", "_per_million_output_tokens", "_per_million_tokens"};

}  // namespace

Boxed<Spread> scaled_spread(const Boxed<Spread>& spread, double factor) {
  if (!spread) return {};
  const double one = spread->low * factor;
  const double other = spread->high * factor;
  return Spread{spread->estimate * factor, spread->standard_uncertainty * std::abs(factor),
                std::min(one, other), std::max(one, other), spread->shared_gain * std::abs(factor)};
}

namespace {

// Runs that lack a figure, or needed an assumption, and why the first one did.
struct FacilityNote {
  std::size_t runs = 0;
  std::string first;

  void add(const PublishedRun& run, const std::string& why) {
    if (runs++ == 0) first = fmt::format("{}: {}", printable(run.name, 200), why);
  }
};

}  // namespace

FacilityFigures facility_of_energy(const PublishedRun& run, std::optional<double> energy_j,
                                   const FacilityRates& rates) {
  if (!energy_j) {
    return no_facility_figures(run.state == PowerState::valid ? "no_energy_published"
                                                              : "power_not_valid");
  }
  Window window;
  if (run.start_unix_s > 0 && run.duration_s > 0) {  // neither 0 nor NaN
    window = {run.start_unix_s, run.start_unix_s + run.duration_s};
  }
  return facility_figures_of_total(rates, window, *energy_j);
}

FacilityFigures facility_of(const PublishedRun& run, const FacilityRates& rates) {
  const auto energy = run.number("total_gpu_energy_j");
  return facility_of_energy(run, energy ? std::optional(energy->value) : std::nullopt, rates);
}

TokenCounts tokens_of(const PublishedRun& run) { return {run.input_tokens, run.output_tokens}; }

std::vector<FacilityNumber> facility_numbers(const PublishedRun& run,
                                             const FacilityFigures& figures,
                                             const FacilityRates& rates) {
  const TokenCounts tokens = tokens_of(run);
  const bool is_asked[] = {rates.pue.has_value(), rates.price.has_value(),
                           rates.carbon.has_value()};
  const std::optional<double> values[] = {figures.energy_j, figures.cost, figures.carbon_g};
  std::vector<FacilityNumber> numbers;
  for (std::size_t i = 0; i < std::size(kFacilityKeys); ++i) {
    if (!is_asked[i]) continue;
    const auto name = [&](std::size_t per) {
      return fmt::format("{}{}", kFacilityKeys[i], kPerTokens[per]);
    };
    numbers.emplace_back(name(0), values[i]);
    numbers.emplace_back(name(1), per_million(values[i], tokens.output));
    numbers.emplace_back(name(2), per_million(values[i], tokens.total()));
  }
  return numbers;
}

bool is_facility_key(std::string_view key) {
  return std::ranges::any_of(kFacilityKeys, [&](std::string_view begin) {
    return key.starts_with(begin) &&
           std::ranges::find(kPerTokens, key.substr(begin.size())) != std::end(kPerTokens);
  });
}

void add_facility_numbers(const FacilityRates& rates, std::vector<PublishedRun>& runs,
                          std::vector<std::string>& warnings) {
  FacilityNote lacking;
  FacilityNote assuming;
  for (PublishedRun& run : runs) {
    const auto energy = run.number("total_gpu_energy_j");
    if (!energy) continue;
    const FacilityFigures figures = facility_of(run, rates);
    const std::vector<std::string> faults = facility_faults(rates, figures);
    if (!faults.empty()) lacking.add(run, joined_text(faults, "; "));
    if (!figures.assumption.empty()) assuming.add(run, figures.assumption);
    for (const auto& [key, value] : facility_numbers(run, figures, rates)) {
      if (!value) continue;
      const double factor = energy->value > 0 ? *value / energy->value : 0;
      run.numbers.push_back({key, *value, scaled_spread(energy->flowed, factor),
                             scaled_spread(energy->repeatability, factor)});
    }
  }
  if (lacking.runs > 0) {
    warnings.push_back(fmt::format("{} of {} runs lack cost or carbon; the first is {}",
                                   lacking.runs, runs.size(), lacking.first));
  }
  if (assuming.runs > 0) {
    warnings.push_back(fmt::format(
        "{} of {} runs cross an hour, and only their total is published; assumed for the first, {}",
        assuming.runs, runs.size(), assuming.first));
  }
}

}  // namespace aggregate_power
