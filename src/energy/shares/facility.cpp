// Cuts windows at hours, and sums what each hour costs.
#include "energy/shares/facility.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {
namespace {

// By how much the parts of an energy may miss the whole, which was summed in another order.
constexpr double kRounding = 1e-6;

bool covers_window(const EnergyRate& rate, Window window) {
  return !rate.is_hourly() ||
         (rate.first_unix_s <= window.start_unix_s && window.end_unix_s <= rate.end_unix_s());
}

// The rate at an instant that it covers.
double rate_at(const EnergyRate& rate, double unix_s) {
  if (!rate.is_hourly()) return rate.per_kwh.front();
  const auto hour = static_cast<std::size_t>((unix_s - rate.first_unix_s) / rate.step_s);
  return rate.per_kwh[std::min(hour, rate.per_kwh.size() - 1)];
}

// The beginnings of steps inside the window.
void add_hours(const std::optional<EnergyRate>& rate, Window window, std::vector<double>& edges) {
  if (!rate || !rate->is_hourly() || !covers_window(*rate, window)) return;
  const double into_s = window.start_unix_s - rate->first_unix_s;
  for (double step = std::floor(into_s / rate->step_s) + 1;; ++step) {
    const double unix_s = rate->first_unix_s + step * rate->step_s;
    if (unix_s >= window.end_unix_s) return;
    edges.push_back(unix_s);
  }
}

std::optional<double> rate_if_covered(const std::optional<EnergyRate>& rate, Window window,
                                      double unix_s) {
  if (!rate || !covers_window(*rate, window)) return std::nullopt;
  return rate_at(*rate, unix_s);
}

std::optional<double> priced(const FacilityFigures& figures, double pue,
                             std::optional<double> RatedStretch::*rate) {
  double sum = 0;
  for (const RatedStretch& stretch : figures.stretches) {
    if (!(stretch.*rate)) return std::nullopt;
    sum += stretch.measured_j / kJoulesInKwh * *(stretch.*rate);
  }
  return pue * sum;
}

std::optional<double> mean_rate(const FacilityFigures& figures,
                                std::optional<double> RatedStretch::*rate) {
  const auto total = priced(figures, 1, rate);
  if (!total || !(figures.measured_j > 0)) return std::nullopt;
  return *total / (figures.measured_j / kJoulesInKwh);
}

// Sets the energy of each stretch; false: one is unknown.
bool fill_stretches(const EnergyInPart& energy_in, FacilityFigures& figures) {
  if (figures.stretches.size() == 1) {
    figures.stretches.front().measured_j = figures.measured_j;
    return true;
  }
  double sum_j = 0;
  for (RatedStretch& stretch : figures.stretches) {
    const auto joules = energy_in(stretch.window);
    if (!joules) return false;
    stretch.measured_j = *joules;
    sum_j += *joules;
  }
  return std::abs(sum_j - figures.measured_j) <= kRounding * std::abs(figures.measured_j);
}

void add_money(const FacilityRates& rates, FacilityFigures& figures) {
  const double factor = rates.pue.value_or(1);
  if (rates.carbon) figures.carbon_g = priced(figures, factor, &RatedStretch::carbon_per_kwh);
  if (rates.price) figures.cost = priced(figures, factor, &RatedStretch::price_per_kwh);
}

// Prices the whole, by rates that are the same in all hours.
void add_flat_money(const FacilityRates& rates, FacilityFigures& figures) {
  const double kwh = rates.pue.value_or(1) * figures.measured_j / kJoulesInKwh;
  const auto flat = [&](const std::optional<EnergyRate>& rate) {
    return rate && !rate->is_hourly() ? std::optional(kwh * rate->per_kwh.front()) : std::nullopt;
  };
  figures.carbon_g = flat(rates.carbon);
  figures.cost = flat(rates.price);
}

FacilityFigures measured_figures(const FacilityRates& rates, double measured_j) {
  FacilityFigures figures{.measured_j = measured_j};
  if (rates.pue) figures.energy_j = *rates.pue * measured_j;
  return figures;
}

}  // namespace

std::vector<RatedStretch> rated_stretches(const FacilityRates& rates, Window window) {
  std::vector<double> edges = {window.start_unix_s};
  add_hours(rates.carbon, window, edges);
  add_hours(rates.price, window, edges);
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  edges.push_back(window.end_unix_s);
  std::vector<RatedStretch> stretches;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    const double middle_s = edges[i - 1] + (edges[i] - edges[i - 1]) / 2;  // away from rounding
    stretches.push_back({.window = {edges[i - 1], edges[i]},
                         .carbon_per_kwh = rate_if_covered(rates.carbon, window, middle_s),
                         .price_per_kwh = rate_if_covered(rates.price, window, middle_s)});
  }
  return stretches;
}

FacilityFigures facility_figures(const FacilityRates& rates, Window window, double measured_j,
                                 const EnergyInPart& energy_in) {
  FacilityFigures figures = measured_figures(rates, measured_j);
  if (rates.pue) figures.power_w = *rates.pue * (measured_j / window.duration_s());
  figures.stretches = rated_stretches(rates, window);
  if (rates.carbon && !covers_window(*rates.carbon, window)) {
    figures.reasons.emplace_back("carbon_series_too_short");
  }
  if (rates.price && !covers_window(*rates.price, window)) {
    figures.reasons.emplace_back("price_series_too_short");
  }
  if (fill_stretches(energy_in, figures)) {
    add_money(rates, figures);
  } else {
    figures.reasons.emplace_back("hourly_energy_unknown");
    figures.stretches.clear();
    add_flat_money(rates, figures);
  }
  return figures;
}

FacilityFigures facility_figures_of_total(const FacilityRates& rates, Window window,
                                          double measured_j) {
  if (window.duration_s() > 0) {
    FacilityFigures figures = facility_figures(rates, window, measured_j, [&](Window part) {
      return measured_j * (part.duration_s() / window.duration_s());
    });
    if (figures.stretches.size() > 1) figures.assumption = "constant power in the window";
    return figures;
  }
  FacilityFigures figures = measured_figures(rates, measured_j);
  add_flat_money(rates, figures);
  const bool lacks_hours = (rates.carbon && !figures.carbon_g) || (rates.price && !figures.cost);
  if (lacks_hours) figures.reasons.emplace_back("window_unknown");
  return figures;
}

FacilityFigures no_facility_figures(const std::string& reason) { return {.reasons = {reason}}; }

FacilityFigures share_of(const FacilityFigures& figures, double share) {
  const auto part = [&](std::optional<double> value) {
    return value ? std::optional(share * *value) : std::nullopt;
  };
  return {.measured_j = share * figures.measured_j,
          .power_w = part(figures.power_w),
          .energy_j = part(figures.energy_j),
          .cost = part(figures.cost),
          .carbon_g = part(figures.carbon_g),
          .reasons = figures.reasons};
}

std::optional<double> mean_carbon_per_kwh(const FacilityFigures& figures) {
  if (figures.stretches.empty()) return std::nullopt;
  return mean_rate(figures, &RatedStretch::carbon_per_kwh);
}

std::optional<double> mean_price_per_kwh(const FacilityFigures& figures) {
  if (figures.stretches.empty()) return std::nullopt;
  return mean_rate(figures, &RatedStretch::price_per_kwh);
}

std::optional<double> per_million(std::optional<double> value, std::int64_t tokens) {
  if (!value || tokens <= 0) return std::nullopt;
  return *value * 1e6 / static_cast<double>(tokens);
}

}  // namespace aggregate_power
