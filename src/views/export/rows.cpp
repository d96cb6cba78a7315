// The table of columns, and the objects.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/document.h"
#include "core/energy/metrics.h"
#include "core/record/edits.h"
#include "decide/compare/facility.h"
#include "runs/measure/facility.h"
#include "views/export/export.h"

namespace aggregate_power {
namespace {

// Members of aggregates with a column of their own; all of them are in `configuration`.
constexpr std::string_view kOwnColumns[] = {"hw", "framework", "model", "precision",
                                            "tp", "conc",      "isl",   "osl"};
// What has columns _low and _high, twice.
constexpr std::string_view kWithIntervals[] = {"total_gpu_energy_j", "joules_per_output_token"};
constexpr std::string_view kModelled[] = {"node", "rack", "facility"};

template <typename T>
Json positive_or_null(T value) {
  return value > 0 ? Json(value) : Json();
}

// A run or a window: the part that it does not have is empty.
struct CsvSubject {
  const ExportedRun* run = nullptr;
  const ExportedWindows* file = nullptr;
  const ExportedWindow* window = nullptr;
};

std::string configuration_value(const ExportedRun* run, std::string_view key) {
  if (run == nullptr) return {};
  const Configuration& configuration = run->configuration;
  const auto found = std::ranges::find(configuration, key, &Configuration::value_type::first);
  return found == configuration.end() ? std::string() : found->second;
}

std::string reasons_cell(const CsvSubject& of) {
  if (of.window != nullptr) return of.window->reason;
  const PublishedRun& run = of.run->run;
  return run.doubt.empty() ? joined_text(run.reasons, ";") : run.doubt;
}

void add_identity(const CsvSubject& of, Json::object_t& row) {
  const bool is_run = of.run != nullptr;
  const bool is_valid = is_run ? of.run->run.state == PowerState::valid : of.window->reason.empty();
  row.emplace_back("kind", is_run ? "run" : "window");
  row.emplace_back("run", is_run ? of.run->name : of.file->name);
  row.emplace_back("window", is_run ? std::string() : of.window->name);
  row.emplace_back("number", is_run ? std::string() : std::to_string(of.window->number));
  row.emplace_back("source", printable_path(is_run ? of.run->run.name : of.file->source));
  row.emplace_back("valid", is_valid ? "1" : "0");
  row.emplace_back("reasons", reasons_cell(of));
  for (const std::string_view key : kOwnColumns) {
    row.emplace_back(key, configuration_value(of.run, key));
  }
  row.emplace_back("configuration", is_run && !of.run->configuration.empty()
                                        ? configuration_text(of.run->configuration)
                                        : std::string());
}

void add_window_cells(const CsvSubject& of, Json::object_t& row) {
  const bool is_run = of.run != nullptr;
  const double start_unix_s = is_run ? of.run->run.start_unix_s : of.window->window.start_unix_s;
  const double end_unix_s = is_run ? of.run->end_unix_s() : of.window->window.end_unix_s;
  const double duration_s = is_run ? of.run->run.duration_s : of.window->window.duration_s();
  row.emplace_back("start_unix_s", positive_or_null(start_unix_s));
  row.emplace_back("end_unix_s", positive_or_null(end_unix_s));
  row.emplace_back("duration_s", positive_or_null(duration_s));
  const std::size_t gpus = is_run ? of.run->run.gpu_ids.size() : of.window->gpu_energies_j.size();
  row.emplace_back("gpus", positive_or_null(gpus));
  row.emplace_back("completed_requests",
                   positive_or_null(is_run ? of.run->run.completed_requests : 0));
  row.emplace_back("input_tokens", positive_or_null(is_run ? of.run->run.input_tokens : 0));
  row.emplace_back("output_tokens", positive_or_null(is_run ? of.run->run.output_tokens : 0));
}

std::optional<double> measured_value(const CsvSubject& of, std::string_view key) {
  if (of.run != nullptr) {
    const auto number = of.run->run.number(key);
    return number ? std::optional(number->value) : std::nullopt;
  }
  if (key == "total_gpu_energy_j") return of.window->energy_j;
  if (key == "avg_total_gpu_power_w") return of.window->mean_power_w;
  return std::nullopt;
}

// Bounds of a window alone are no such interval.
Boxed<Spread> stated_repeatability(const PublishedNumber& number) {
  const auto& spread = number.repeatability;
  return spread && spread->is_of_window() ? Boxed<Spread>() : spread;
}

void add_intervals(const CsvSubject& of, std::string_view key, Json::object_t& row) {
  const auto number = of.run != nullptr ? of.run->run.number(key) : std::nullopt;
  const auto add = [&](const char* what, const Boxed<Spread>& spread) {
    row.emplace_back(fmt::format("{}{}_low", key, what), spread ? Json(spread->low) : Json());
    row.emplace_back(fmt::format("{}{}_high", key, what), spread ? Json(spread->high) : Json());
  };
  add("", number ? number->flowed : Boxed<Spread>());
  add("_repeatability", number ? stated_repeatability(*number) : Boxed<Spread>());
}

void add_measured(const CsvSubject& of, Json::object_t& row) {
  std::vector<std::string_view> keys = all_metric_keys();
  append(keys, dashboard_metric_keys());
  for (const std::string_view key : keys) {
    row.emplace_back(key, or_null(measured_value(of, key)));
    if (std::ranges::find(kWithIntervals, key) != std::end(kWithIntervals)) {
      add_intervals(of, key, row);
    }
  }
  row.emplace_back("own_energy_j",
                   or_null(of.window != nullptr ? of.window->own_energy_j : std::nullopt));
}

void add_modelled(const CsvSubject& of, Json::object_t& row) {
  const std::optional<RunLimit> limit = of.run != nullptr ? of.run->limit : std::nullopt;
  row.emplace_back("modelled_gpu_power_limit_w", limit ? Json(limit->watts) : Json());
  row.emplace_back("modelled_gpu_power_to_limit",
                   or_null(limit ? limit->power_ratio : std::nullopt));
  row.emplace_back("modelled_provisioned_joules_per_output_token",
                   or_null(limit ? limit->joules_per_output_token : std::nullopt));
  for (const std::string_view boundary : kModelled) {
    BoundaryPower rung;
    for (const BoundaryPower& one :
         of.run != nullptr ? of.run->boundaries() : std::vector<BoundaryPower>()) {
      if (one.boundary == boundary && one.basis == Basis::modelled) rung = one;
    }
    const bool is_known = !rung.boundary.empty();
    row.emplace_back(fmt::format("modelled_{}_factor", boundary),
                     is_known ? Json(rung.factor) : Json());
    row.emplace_back(fmt::format("modelled_{}_energy_j", boundary), or_null(rung.energy_j));
    row.emplace_back(fmt::format("modelled_{}_power_w", boundary), or_null(rung.power_w));
    row.emplace_back(fmt::format("modelled_{}_joules_per_output_token", boundary),
                     or_null(rung.joules_per_output_token));
  }
}

// Only if a rate was asked for.
void add_cost(const CsvSubject& of, const FacilityRates& rates, Json::object_t& row) {
  if (!rates.is_asked()) return;
  static const ExportedRun kNone;
  const ExportedRun& run = of.run != nullptr ? *of.run : kNone;
  const RunCost cost = run.cost ? *run.cost : RunCost();
  row.emplace_back("cost_boundary", cost.boundary);
  row.emplace_back("cost_basis", run.cost ? basis_name(cost.basis) : "");
  if (rates.price) row.emplace_back("currency", rates.currency);
  for (const auto& [key, value] : facility_numbers(run.run, cost.figures, rates)) {
    row.emplace_back(key, or_null(value));
  }
  row.emplace_back("cost_assumption", cost.figures.assumption);
  row.emplace_back("cost_reasons", joined_text(cost.figures.reasons, ";"));
}

Json::object_t csv_row(const CsvSubject& of, const FacilityRates& rates) {
  Json::object_t row;
  add_identity(of, row);
  add_window_cells(of, row);
  add_measured(of, row);
  add_modelled(of, row);
  add_cost(of, rates, row);
  return row;
}

constexpr const char* kExportSchema = "aggregate-power/export-1";

Json spread_json(const Boxed<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"low", spread->low},
          {"high", spread->high},
          {"standard_uncertainty", spread->standard_uncertainty}};
}

Json measured_json(const PublishedRun& run) {
  Json json = Json::object();
  for (const PublishedNumber& number : run.numbers) {
    if (is_our_key(*number.key)) json[*number.key] = number.value;
  }
  return json;
}

Json intervals_json(const PublishedRun& run) {
  Json json = Json::object();
  for (const PublishedNumber& number : run.numbers) {
    const Boxed<Spread> repeatability = stated_repeatability(number);
    if (!is_our_key(*number.key) || (!number.flowed && !repeatability)) continue;
    json[*number.key] = {{"flowed", spread_json(number.flowed)},
                         {"repeatability", spread_json(repeatability)}};
  }
  return json;
}

Json boundaries_json(const std::vector<BoundaryPower>& rungs) {
  return list_of(rungs, [&](const BoundaryPower& rung) -> Json {
    return {{"boundary", rung.boundary},
            {"basis", basis_name(rung.basis)},
            {"factor", rung.factor},
            {"energy_j", or_null(rung.energy_j)},
            {"power_w", or_null(rung.power_w)},
            {"joules_per_output_token", or_null(rung.joules_per_output_token)}};
  });
}

Json limit_json(const Boxed<RunLimit>& limit) {
  if (!limit) return nullptr;
  return {{"basis", basis_name(Basis::modelled)},
          {"gpu", text_or_null(limit->gpu)},
          {"power_limit_w", limit->watts},
          {"source", limit->source},
          {"power_to_limit", or_null(limit->power_ratio)},
          {"joules_per_output_token", or_null(limit->joules_per_output_token)}};
}

Json cost_json(const ExportedRun& exported, const FacilityRates& rates) {
  if (!exported.cost) return nullptr;
  const RunCost& cost = *exported.cost;
  Json json = facility_terms_json(rates, exported.boundaries().front().boundary);
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
  for (const auto& [gpu, energy_j] : run.gpu_energies_j) gpus[*gpu] = energy_j;
  Json json = {{"schema", kExportSchema},
               {"kind", "run"},
               {"run", exported.name},
               {"source", printable_path(run.name)},
               {"valid", run.state == PowerState::valid},
               {"reasons", *run.reasons},
               {"doubt", text_or_null(run.doubt)},
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
               {"boundaries", boundaries_json(exported.boundaries())},
               {"limit", limit_json(exported.limit)},
               {"verdicts", *run.verdicts}};
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
          {"reason", text_or_null(window.reason)},
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

void rows_csv(const Exported& exported, const TextSink& sink) {
  const ExportedRun none;
  std::string text = csv_names(csv_row({.run = &none}, exported.rates)) + "\r\n";
  const auto add = [&](const CsvSubject& of) {
    add_csv_cells(csv_row(of, exported.rates), text);
    text += "\r\n";
    pass_on(text, sink);
  };
  for (const ExportedRun& run : exported.runs) add({.run = &run});
  while (const auto run = exported.more_runs ? exported.more_runs() : std::nullopt) {
    add({.run = &*run});
  }
  for (const ExportedWindows& file : exported.windows) {
    for (const ExportedWindow& window : file.windows) add({.file = &file, .window = &window});
  }
  sink(text);
}

void rows_jsonl(const Exported& exported, const TextSink& sink) {
  std::string text;
  const auto add = [&](const Json& row) {
    text += line_text(row) + "\n";
    pass_on(text, sink);
  };
  for (const ExportedRun& run : exported.runs) add(run_object(run, exported.rates));
  for (const ExportedWindows& file : exported.windows) {
    for (const ExportedWindow& window : file.windows) add(window_object(file, window));
  }
  sink(text);
}

}  // namespace aggregate_power
