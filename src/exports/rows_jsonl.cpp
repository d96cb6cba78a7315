// Writes the objects.

#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "decisions/run_facility.h"
#include "exports/run_rows.h"
#include "results/facility_report.h"

namespace aggregate_power {
namespace {

constexpr const char* kExportSchema = "aggregate-power/export-1";

Json positive_or_null(double value) { return value > 0 ? Json(value) : Json(); }

Json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"low", spread->low},
          {"high", spread->high},
          {"standard_uncertainty", spread->standard_uncertainty}};
}

Json measured_json(const PublishedRun& run) {
  Json json = Json::object();
  for (const PublishedNumber& number : run.numbers) json[number.key] = number.value;
  return json;
}

Json intervals_json(const PublishedRun& run) {
  Json json = Json::object();
  for (const PublishedNumber& number : run.numbers) {
    if (!number.flowed && !number.repeatability) continue;
    json[number.key] = {{"flowed", spread_json(number.flowed)},
                        {"repeatability", spread_json(number.repeatability)}};
  }
  return json;
}

Json boundaries_json(const std::vector<BoundaryPower>& rungs) {
  Json list = Json::array();
  for (const BoundaryPower& rung : rungs) {
    list.push_back({{"boundary", rung.boundary},
                    {"basis", basis_name(rung.basis)},
                    {"factor", rung.factor},
                    {"energy_j", or_null(rung.energy_j)},
                    {"power_w", or_null(rung.power_w)},
                    {"joules_per_output_token", or_null(rung.joules_per_output_token)}});
  }
  return list;
}

Json limit_json(const std::optional<RunLimit>& limit) {
  if (!limit) return nullptr;
  return {{"basis", basis_name(Basis::modelled)},
          {"gpu", limit->gpu.empty() ? Json() : Json(limit->gpu)},
          {"power_limit_w", limit->watts},
          {"source", limit->source},
          {"power_to_limit", or_null(limit->power_ratio)},
          {"joules_per_output_token", or_null(limit->joules_per_output_token)}};
}

Json cost_json(const ExportedRun& exported, const FacilityRates& rates) {
  if (!exported.cost) return nullptr;
  const RunCost& cost = *exported.cost;
  Json json = facility_terms_json(rates, exported.boundaries.front().boundary);
  json["boundary"] = cost.boundary;
  json["basis"] = basis_name(cost.basis);
  json["facility_power_w"] = number_or_null(cost.figures.power_w);
  for (const auto& [key, value] : facility_numbers(exported.run, cost.figures, rates)) {
    json[key] = or_null(value);
  }
  json["assumption"] = text_or_null(cost.figures.assumption);
  json["reasons"] = cost.figures.reasons;
  return json;
}

Json run_object(const ExportedRun& exported, const FacilityRates& rates) {
  const PublishedRun& run = exported.run;
  Json configuration = Json::object();
  for (const auto& [key, value] : exported.configuration) configuration[key] = value;
  Json gpus = Json::object();
  for (const auto& [gpu, energy_j] : run.gpu_energies_j) gpus[gpu] = energy_j;
  Json json = {{"schema", kExportSchema},
               {"kind", "run"},
               {"run", exported.name},
               {"source", printable_path(run.name)},
               {"valid", run.state == PowerState::valid},
               {"reasons", run.reasons},
               {"doubt", run.doubt.empty() ? Json() : Json(run.doubt)},
               {"configuration", std::move(configuration)},
               {"start_unix_s", positive_or_null(run.start_unix_s)},
               {"end_unix_s", positive_or_null(exported.end_unix_s())},
               {"duration_s", positive_or_null(run.duration_s)},
               {"completed_requests", run.completed_requests},
               {"input_tokens", run.input_tokens},
               {"output_tokens", run.output_tokens},
               {"basis", basis_name(Basis::measured)},
               {"measured", measured_json(run)},
               {"intervals", intervals_json(run)},
               {"gpu_energy_j", std::move(gpus)},
               {"boundaries", boundaries_json(exported.boundaries)},
               {"limit", limit_json(exported.limit)},
               {"verdicts", run.verdicts}};
  if (rates.is_asked()) json["facility"] = cost_json(exported, rates);
  return json;
}

Json window_object(const ExportedWindows& file, const ExportedWindow& window) {
  Json gpus = Json::object();
  for (const auto& [gpu, energy_j] : window.gpu_energies_j) gpus[gpu] = or_null(energy_j);
  return {{"schema", kExportSchema},
          {"kind", "window"},
          {"run", file.name},
          {"source", printable_path(file.source)},
          {"number", window.number},
          {"window", window.name},
          {"valid", window.reason.empty()},
          {"reason", window.reason.empty() ? Json() : Json(window.reason)},
          {"start_unix_s", window.window.start_unix_s},
          {"end_unix_s", window.window.end_unix_s},
          {"duration_s", window.window.duration_s()},
          {"basis", basis_name(Basis::measured)},
          {"measured",
           {{"total_gpu_energy_j", or_null(window.energy_j)},
            {"avg_total_gpu_power_w", or_null(window.mean_power_w)},
            {"own_energy_j", or_null(window.own_energy_j)}}},
          {"gpu_energy_j", std::move(gpus)}};
}

}  // namespace

std::string rows_jsonl(const Exported& exported) {
  std::string text;
  const auto add = [&](const Json& row) { text += line_text(row) + "\n"; };
  for (const ExportedRun& run : exported.runs) add(run_object(run, exported.rates));
  for (const ExportedWindows& file : exported.windows) {
    for (const ExportedWindow& window : file.windows) add(window_object(file, window));
  }
  return text;
}

}  // namespace aggregate_power
