// Writes the objects.
#include <nlohmann/json.hpp>

#include "base/files/path.h"
#include "decisions/run_facility.h"
#include "exports/run_rows.h"
#include "results/facility_report.h"

namespace aggregate_power {
namespace {

using RowJson = nlohmann::ordered_json;

constexpr const char* kExportSchema = "aggregate-power/export-1";

RowJson json_or_null(const std::optional<double>& value) {
  return value ? RowJson(*value) : RowJson();
}

RowJson positive_or_null(double value) { return value > 0 ? RowJson(value) : RowJson(); }

RowJson spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"low", spread->low},
          {"high", spread->high},
          {"standard_uncertainty", spread->standard_uncertainty}};
}

RowJson measured_json(const PublishedRun& run) {
  RowJson json = RowJson::object();
  for (const PublishedNumber& number : run.numbers) json[number.key] = number.value;
  return json;
}

RowJson intervals_json(const PublishedRun& run) {
  RowJson json = RowJson::object();
  for (const PublishedNumber& number : run.numbers) {
    if (!number.flowed && !number.repeatability) continue;
    json[number.key] = {{"flowed", spread_json(number.flowed)},
                        {"repeatability", spread_json(number.repeatability)}};
  }
  return json;
}

RowJson boundaries_json(const std::vector<BoundaryPower>& rungs) {
  RowJson list = RowJson::array();
  for (const BoundaryPower& rung : rungs) {
    list.push_back({{"boundary", rung.boundary},
                    {"basis", basis_name(rung.basis)},
                    {"factor", rung.factor},
                    {"energy_j", json_or_null(rung.energy_j)},
                    {"power_w", json_or_null(rung.power_w)},
                    {"joules_per_output_token", json_or_null(rung.joules_per_output_token)}});
  }
  return list;
}

RowJson limit_json(const std::optional<RunLimit>& limit) {
  if (!limit) return nullptr;
  return {{"basis", basis_name(Basis::modelled)},
          {"gpu", limit->gpu.empty() ? RowJson() : RowJson(limit->gpu)},
          {"power_limit_w", limit->watts},
          {"source", limit->source},
          {"power_to_limit", json_or_null(limit->power_ratio)},
          {"joules_per_output_token", json_or_null(limit->joules_per_output_token)}};
}

RowJson cost_json(const ExportedRun& exported, const FacilityRates& rates) {
  if (!exported.cost) return nullptr;
  const RunCost& cost = *exported.cost;
  RowJson json = facility_terms_json(rates, exported.boundaries.front().boundary);
  json["boundary"] = cost.boundary;
  json["basis"] = basis_name(cost.basis);
  json["facility_power_w"] = number_or_null(cost.figures.power_w);
  for (const auto& [key, value] : facility_numbers(exported.run, cost.figures, rates)) {
    json[key] = json_or_null(value);
  }
  json["assumption"] = text_or_null(cost.figures.assumption);
  json["reasons"] = cost.figures.reasons;
  return json;
}

RowJson run_object(const ExportedRun& exported, const FacilityRates& rates) {
  const PublishedRun& run = exported.run;
  RowJson configuration = RowJson::object();
  for (const auto& [key, value] : exported.configuration) configuration[key] = value;
  RowJson gpus = RowJson::object();
  for (const auto& [gpu, energy_j] : run.gpu_energies_j) gpus[gpu] = energy_j;
  RowJson json = {{"schema", kExportSchema},
                  {"kind", "run"},
                  {"run", exported.name},
                  {"source", printable_path(run.name)},
                  {"valid", run.state == PowerState::valid},
                  {"reasons", run.reasons},
                  {"doubt", run.doubt.empty() ? RowJson() : RowJson(run.doubt)},
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

RowJson window_object(const ExportedWindows& file, const ExportedWindow& window) {
  RowJson gpus = RowJson::object();
  for (const auto& [gpu, energy_j] : window.gpu_energies_j) gpus[gpu] = json_or_null(energy_j);
  return {{"schema", kExportSchema},
          {"kind", "window"},
          {"run", file.name},
          {"source", printable_path(file.source)},
          {"number", window.number},
          {"window", window.name},
          {"valid", window.reason.empty()},
          {"reason", window.reason.empty() ? RowJson() : RowJson(window.reason)},
          {"start_unix_s", window.window.start_unix_s},
          {"end_unix_s", window.window.end_unix_s},
          {"duration_s", window.window.duration_s()},
          {"basis", basis_name(Basis::measured)},
          {"measured",
           {{"total_gpu_energy_j", json_or_null(window.energy_j)},
            {"avg_total_gpu_power_w", json_or_null(window.mean_power_w)},
            {"own_energy_j", json_or_null(window.own_energy_j)}}},
          {"gpu_energy_j", std::move(gpus)}};
}

std::string json_line(const RowJson& json) {
  return json.dump(-1, ' ', true, RowJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string rows_jsonl(const Exported& exported) {
  std::string text;
  for (const ExportedRun& run : exported.runs) text += json_line(run_object(run, exported.rates));
  for (const ExportedWindows& file : exported.windows) {
    for (const ExportedWindow& window : file.windows) {
      text += json_line(window_object(file, window));
    }
  }
  return text;
}

}  // namespace aggregate_power
