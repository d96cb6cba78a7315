// Lays out figures of a facility.
#include "runs/measure/facility.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/json.h"
#include "energy/shares/facility.h"
#include "recorders/energy_rate.h"

namespace aggregate_power {
namespace {

Json rate_json(const std::optional<EnergyRate>& rate) {
  if (!rate) return {};
  return {{"source", text_or_null(rate->source)},
          {"zone", text_or_null(rate->zone)},
          {"per_kwh", rate->is_hourly() ? Json() : Json(rate->per_kwh.front())}};
}

void add_per_million(const std::string& key, std::optional<double> value, TokenCounts tokens,
                     Json& json) {
  json[key + "_per_million_output_tokens"] = number_or_null(per_million(value, tokens.output));
  json[key + "_per_million_tokens"] = number_or_null(per_million(value, tokens.total()));
}

Json stretch_json(const RatedStretch& stretch) {
  return {{"start_unix", stretch.window.start_unix_s},
          {"end_unix", stretch.window.end_unix_s},
          {"measured_energy_j", stretch.measured_j},
          {"gco2e_per_kwh", number_or_null(stretch.carbon_per_kwh)},
          {"price_per_kwh", number_or_null(stretch.price_per_kwh)}};
}

// "the GPUs", as a sentence has it.
std::string measured_part_text(const std::string& measured) {
  if (measured == "gpu") return "the GPUs";
  if (measured == "module") return "the GPUs' modules";
  if (measured == "node") return "the node";
  return measured == "wall" ? "what was metered at the wall" : fmt::format("the {}", measured);
}

// What the figures are of, to follow them.
std::string scope_text(const FacilityRates& rates, const std::string& measured) {
  const std::string part = measured_part_text(measured);
  const bool is_all = measured == "node" || measured == "wall";
  const std::string alone = is_all ? "" : " alone, without the rest of their nodes";
  return rates.pue ? fmt::format("PUE {} times {}{}", *rates.pue, part, alone)
                   : fmt::format("of {}{}; no --pue", part, alone);
}

// "1.6916 EUR per million output tokens, 0.3383 in or out"; empty without tokens.
std::string per_million_text(double value, const std::string& unit, TokenCounts tokens) {
  const auto of_output = per_million(value, tokens.output);
  const auto of_all = per_million(value, tokens.total());
  if (!of_output) return {};
  std::string text = fmt::format("{:.6g}{} per million output tokens", *of_output, unit);
  if (of_all) text += fmt::format(", {:.6g} in or out", *of_all);
  return tokens.are_approximate ? text + ", approximately" : text;
}

struct FigureText {
  std::string name;
  std::optional<double> value;
  std::string unit;  // with a blank before it
};

}  // namespace

Json facility_terms_json(const FacilityRates& rates, const std::string& measured) {
  return {{"measured_boundary", measured},    {"boundary", boundary_of_figures(rates, measured)},
          {"pue", number_or_null(rates.pue)}, {"currency", text_or_null(rates.currency)},
          {"price", rate_json(rates.price)},  {"carbon", rate_json(rates.carbon)}};
}

Json facility_figures_json(const FacilityFigures& figures) {
  return {{"facility_power_w", number_or_null(figures.power_w)},
          {"facility_energy_j", number_or_null(figures.energy_j)},
          {"cost", number_or_null(figures.cost)},
          {"carbon_gco2e", number_or_null(figures.carbon_g)},
          {"assumption", text_or_null(figures.assumption)},
          {"reasons", figures.reasons}};
}

Json facility_json(const FacilityRates& rates, const std::string& measured,
                   const FacilityFigures& figures, TokenCounts tokens) {
  Json json = facility_terms_json(rates, measured);
  json["facility_power_w"] = number_or_null(figures.power_w);
  const std::pair<const char*, std::optional<double>> kFigures[] = {
      {"facility_energy_j", figures.energy_j},
      {"cost", figures.cost},
      {"carbon_gco2e", figures.carbon_g}};
  for (const auto& [key, value] : kFigures) {
    json[key] = number_or_null(value);
    add_per_million(key, value, tokens, json);
  }
  json["mean_price_per_kwh"] = number_or_null(mean_price_per_kwh(figures));
  json["mean_gco2e_per_kwh"] = number_or_null(mean_carbon_per_kwh(figures));
  json["assumption"] = text_or_null(figures.assumption);
  json["reasons"] = figures.reasons;
  json["hours"] = list_of(figures.stretches, stretch_json);
  return json;
}

void add_facility_members(const std::optional<FacilityFigures>& figures, bool with_reasons,
                          Json::object_t& row) {
  const FacilityFigures known = figures.value_or(FacilityFigures());
  row["facility_energy_j"] = number_or_null(known.energy_j);
  row["cost"] = number_or_null(known.cost);
  row["carbon_gco2e"] = number_or_null(known.carbon_g);
  if (with_reasons) row["facility_reason"] = joined_text(known.reasons, " ");
}

std::vector<std::pair<std::string, std::string>> facility_rows(const FacilityRates& rates,
                                                               const std::string& measured,
                                                               const FacilityFigures& figures,
                                                               TokenCounts tokens) {
  std::vector<std::pair<std::string, std::string>> rows;
  const std::string scope = scope_text(rates, measured);
  const auto add = [&](const std::string& name, const std::string& text, double value,
                       const std::string& unit) {
    rows.emplace_back(name, text);
    if (std::string each = per_million_text(value, unit, tokens); !each.empty()) {
      rows.emplace_back("", std::move(each));
    }
  };
  if (figures.energy_j) {
    const double kwh = *figures.energy_j / kJoulesInKwh;
    const std::string watts =
        figures.power_w ? fmt::format(", {:.2f} W", *figures.power_w) : std::string();
    add("facility",
        fmt::format("{:.1f} J ({:.6g} kWh){}; {}", *figures.energy_j, kwh, watts, scope), kwh,
        " kWh");
  }
  const std::string currency =
      rates.currency.empty() ? std::string() : " " + printable(rates.currency);
  // The boundary is said once.
  const auto tail = [&] { return rows.empty() ? "; " + scope : std::string(); };
  const FigureText kMoney[] = {{"cost", figures.cost, currency},
                               {"carbon", figures.carbon_g, " gCO2e"}};
  for (const FigureText& each : kMoney) {
    if (!each.value) continue;
    const std::string unnamed =
        each.name == "cost" && currency.empty() ? " (in the price's currency)" : "";
    add(each.name, fmt::format("{:.6g}{}{}{}", *each.value, each.unit, unnamed, tail()),
        *each.value, each.unit);
  }
  if (!figures.assumption.empty()) rows.emplace_back("", "assuming " + figures.assumption);
  return rows;
}

std::string facility_note(const FacilityRates& rates, const std::string& measured) {
  const std::string part = measured_part_text(measured);
  std::string text = rates.pue ? fmt::format("facility: {} times PUE {}", part, *rates.pue)
                               : fmt::format("cost and carbon: {} alone, no --pue", part);
  if (rates.price) {
    text += fmt::format("; cost in {}", rates.currency.empty() ? "the price's currency"
                                                               : printable(rates.currency));
  }
  return text;
}

std::vector<std::string> facility_faults(const FacilityRates& rates,
                                         const FacilityFigures& figures) {
  std::vector<std::string> faults;
  for (const std::string& reason : figures.reasons) {
    const bool is_carbon = reason == "carbon_series_too_short";
    const auto& rate = is_carbon ? rates.carbon : rates.price;
    if ((is_carbon || reason == "price_series_too_short") && rate) {
      faults.push_back(
          fmt::format("{}: {} has the hours from {}, which do not cover the window: no {}", reason,
                      rate->source, hours_text(*rate), is_carbon ? "carbon" : "cost"));
    } else if (reason == "window_unknown") {
      faults.push_back(reason + ": no record states its window: no power, and nothing by the hour");
    } else if (reason == "hourly_energy_unknown") {
      faults.push_back(reason +
                       ": the energy of each hour could not be read again: nothing by the hour");
    }
  }
  return faults;
}

// ---- Finds the energy of each hour of a run, and prices it.

void add_facility(const FacilityRates& rates, const std::list<SeenPower>& power, RunReport& run) {
  Result& result = run.result;
  FacilityReport& report = run.facility.emplace(FacilityReport{.rates = rates});
  if (result.telemetry) report.measured = measured_boundary(result.telemetry->series.sensor.scope);
  const auto energy_j = value_of(result.metrics, "total_gpu_energy_j");
  if (!result.is_valid() || !result.load || !energy_j) {
    report.figures = no_facility_figures("power_not_valid");
    return;
  }
  const Window window = result.load->window;
  auto curves = mapped<std::optional<FleetPower>>(power, &SeenPower::curve);
  report.figures =
      facility_figures(rates, window, *energy_j, [&](Window part) -> std::optional<double> {
        double sum_j = 0;
        for (const std::optional<FleetPower>& curve : curves) {
          if (!curve) return std::nullopt;
          sum_j += curve->energy_j(part.start_unix_s, part.end_unix_s);
        }
        return sum_j;
      });
  append(result.warnings, facility_doubts(rates));
  append(result.warnings, facility_faults(rates, report.figures));
}

}  // namespace aggregate_power
