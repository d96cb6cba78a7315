// Lays out what a benchmark used.
#include "runs/measure/measure_report.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/facility.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "base/text/time_zone.h"
#include "core/load/stated_totals.h"
#include "core/record/edits.h"
#include "core/record/efficiency_json.h"
#include "core/record/limits_json.h"
#include "core/record/record_numbers.h"
#include "core/record/record_write.h"
#include "core/record/request_json.h"
#include "core/record/salvage_json.h"
#include "energy/shares/facility.h"
#include "runs/calibrate/calibrate.h"
#include "runs/measure/facility.h"
#include "runs/measure/good_work.h"
#include "runs/measure/interval_text.h"

namespace aggregate_power {
namespace {

const Metric* metric(const Result& result, std::string_view key) {
  return find_item(result.metrics, key, &Metric::key);
}

std::string source_of(const Result& result) {
  return result.window_source.empty() ? "exact" : result.window_source;
}

// How far the generator's own figure is from ours, as a share of ours.
std::optional<double> stated_error(const RunReport& run) {
  const Metric* const energy = metric(run.result, "total_gpu_energy_j");
  if (energy == nullptr || !run.stated_energy_j || energy->value <= 0) return std::nullopt;
  return rounded(*run.stated_energy_j / energy->value - 1, kAuditDecimals);
}

TokenCounts tokens_of(const RunReport& run) {
  if (!run.result.load) return {};
  const Load& load = *run.result.load;
  return {load.total_input_tokens, load.total_output_tokens, run.has_approximate_counts};
}

// What run_json() writes besides metrics and the configuration: a setting cannot have such a name.
constexpr std::string_view kRunKeys =
    " benchmark valid window_source window window_half_width_s duration_s gpu_count gpu_ids gpu_uuids "
    "total_gpu_energy_wh energy_j_low energy_j_high tokens_per_joule wh_per_1000_output_tokens "
    "wh_per_query power_limits performance_per_watt generator_energy_j "
    "generator_energy_relative_error facility completed_requests input_tokens output_tokens "
    "failed_requests counts_are_approximate request_energy phase_energy good_work roles correct_answers idle uncertainty salvage "
    "witnesses modelled_node "
    "telemetry reasons accepted_reasons details remedies warnings settings "
    "slo slo_attainment goodput_requests_per_s goodput_output_tokens_per_s joules_per_good_request "
    "joules_per_good_output_token missed_energy_share joules_per_correct_answer ";

const GoodWork* good_work_in(const Result& result) {
  return result.good_work ? &*result.good_work : nullptr;
}

double window_s(const Result& result) { return result.load->window.duration_s(); }

// A key that is written, and not in the list, is a fault of ours.
void check_is_known(const RunReport& run, std::string_view key) {
  const auto& settings = run.configuration;
  const bool is_setting =
      std::ranges::find(settings, key, &Settings::value_type::first) != settings.end();
  if (is_setting || key == "generator" || is_measured_member(key)) return;
  throw std::logic_error(fmt::format("'{}' is not among kRunKeys", key));
}

Json run_json(const RunReport& run) {
  const Result& result = run.result;
  Json json;
  if (!run.benchmark.empty()) json["benchmark"] = run.benchmark;
  json["generator"] = text_or_null(result.load_generator);
  for (const auto& [key, text] : run.configuration) {
    json[key] = Json::parse(configuration_json(text));
  }
  json["valid"] = result.is_valid();
  json["window_source"] = result.load ? Json(source_of(result)) : Json();
  json["window"] = nullptr;
  if (result.load) {
    json["window"] = {{"start_unix", result.load->window.start_unix_s},
                      {"end_unix", result.load->window.end_unix_s}};
    if (result.window_half_width_s) {
      json["window_half_width_s"] = rounded(*result.window_half_width_s, kAuditDecimals);
    }
    json["duration_s"] = rounded(result.load->window.duration_s(), kAuditDecimals);
  }
  json["gpu_count"] = result.observed_gpus;
  json["gpu_ids"] = result.observed_gpu_ids;
  if (auto uuids = gpu_uuids(result); !uuids.empty()) json["gpu_uuids"] = std::move(uuids);
  for (const Metric& each : result.metrics) {
    json[std::string(each.key)] = rounded(each.value, kAuditDecimals);
    if (each.key != "total_gpu_energy_j") continue;
    json["total_gpu_energy_wh"] = rounded(each.value / kJoulesInWattHour, kAuditDecimals);
    if (!each.interval) continue;  // its window is an estimate
    const auto bounds = results::best_number(result, each).bounds;
    json["energy_j_low"] = rounded(bounds->low, kAuditDecimals);
    json["energy_j_high"] = rounded(bounds->high, kAuditDecimals);
  }
  if (const auto joules = value_of(result.metrics, "joules_per_output_token"); joules > 0.0) {
    json["tokens_per_joule"] = rounded(1 / *joules, kAuditDecimals);
    json["wh_per_1000_output_tokens"] = rounded(1000 * *joules / kJoulesInWattHour, kAuditDecimals);
  }
  if (const auto joules = value_of(result.metrics, "joules_per_successful_query")) {
    json["wh_per_query"] = rounded(*joules / kJoulesInWattHour, kAuditDecimals);
  }
  if (!result.limits.empty()) json["power_limits"] = results::limits_json(result.limits);
  if (results::gpu_leg(result)) json["performance_per_watt"] = results::efficiency_json(result);
  if (run.stated_energy_j) {
    json["generator_energy_j"] = *run.stated_energy_j;
    if (const auto error = stated_error(run)) json["generator_energy_relative_error"] = *error;
  }
  if (const auto& facility = run.facility) {
    json["facility"] =
        facility_json(facility->rates, facility->measured, facility->figures, tokens_of(run));
  }
  if (result.load) {
    const auto count = [&](const char* key, std::int64_t value) {
      if (value > 0) json[key] = value;
    };
    count("completed_requests", result.load->completed);
    count("input_tokens", result.load->total_input_tokens);
    count("output_tokens", result.load->total_output_tokens);
    if (run.failed_requests > 0) json["failed_requests"] = run.failed_requests;
    if (run.has_approximate_counts) json["counts_are_approximate"] = true;
  }
  if (const auto& energy = result.request_energy) {
    json["request_energy"] = request_energy_json(*energy, result.is_valid());
  }
  if (const auto& phases = result.phase_energy) {
    json["phase_energy"] = phase_energy_json(*phases, result.is_valid());
  }
  if (const auto& work = result.good_work) {
    json["good_work"] = good_work_json(*work, result.is_valid());
  }
  if (!run.roles.empty()) {
    json["roles"] = runs::roles_json(run.roles, good_work_in(result), window_s(result));
  }
  if (const auto& correct = result.answers) {
    json["correct_answers"] = correct_answers_json(*correct, result.is_valid());
  }
  if (result.idle) json["idle"] = idle_json(result, result.is_valid(), interval_of(result));
  if (interval_of(result) != nullptr) {
    json["uncertainty"] = uncertainty_json(result, result.is_valid());
  }
  if (!result.witnesses.empty()) {
    json["witnesses"] = seen_by_witnesses_json(result, result.is_valid());
  }
  if (result.modelled_node) json["modelled_node"] = modelled_node_json(*result.modelled_node);
  if (result.salvaged) {
    json["salvage"] = results::salvage_json(*result.salvaged, results::lacks_only_samples(result));
  }
  json["telemetry"] = printable_path(result.telemetry_source);
  json["reasons"] = result.reasons.codes();
  if (!result.accepted.empty()) json["accepted_reasons"] = result.accepted.codes();
  json["details"] = result.reasons.text();
  json["remedies"] = remedy_lines(result, result.reasons);
  json["warnings"] = result.warnings;
  for (const auto& [key, value] : json.items()) check_is_known(run, key);
  return json;
}

// Facts in at most 80 columns.
struct Facts {
  static constexpr std::size_t kIndent = 14;

  void row(std::string_view name, std::string_view value) {
    text += fact(name, value, kIndent, 80);
  }
  void rows(std::string_view name, const std::vector<std::string>& values) {
    for (const std::string& value : values) row(std::exchange(name, ""), value);
  }

  std::string text = {};
};

void add_energy(const RunReport& run, Facts& facts) {
  const Metric* const energy = metric(run.result, "total_gpu_energy_j");
  if (energy == nullptr) return;
  const auto watts = [&](std::string_view key) {
    const Metric* const power = metric(run.result, key);
    return power == nullptr ? 0 : results::best_number(run.result, *power).value;
  };
  facts.row("power", fmt::format("{:.2f} W each GPU, {:.2f} W together", watts("avg_power_w"),
                                 watts("avg_total_gpu_power_w")));
  // Not wrapped: it is looked for in one line.
  facts.text += fact("energy", results::energy_text(run.result, *energy), Facts::kIndent);
  facts.row("", results::published_text(run.result, *energy));
  for (const auto& [ratio, what] : results::ratios_of(run.result)) {
    const bool is_approximate = run.has_approximate_counts && what != "request";
    const std::string text = results::ratio_text(run.result, *ratio, what);
    facts.row("", is_approximate ? text + ", approximately" : text);
  }
  if (const std::string rates = results::rates_text(run.result); !rates.empty()) {
    facts.row("", run.has_approximate_counts ? rates + ", approximately" : rates);
  }
  const double best_j = results::best_number(run.result, *energy).value;
  for (const std::string& efficiency : results::efficiency_texts(run.result, best_j)) {
    facts.row("", run.has_approximate_counts ? efficiency + ", approximately" : efficiency);
  }
  if (run.stated_energy_j) {
    const double share = 100 * stated_error(run).value_or(0);
    facts.row("", fmt::format("{:.1f} J by the generator's own figure ({:+.1f} %)",
                              *run.stated_energy_j, share));
  }
}

// The figures are of what is published; people see them of the energy above them.
void add_facility_facts(const RunReport& run, Facts& facts) {
  const FacilityReport& facility = *run.facility;
  const Metric* const energy = metric(run.result, "total_gpu_energy_j");
  const bool is_known = energy != nullptr && energy->value > 0;
  const double share =
      is_known ? results::best_number(run.result, *energy).value / energy->value : 1;
  FacilityFigures shown = share_of(facility.figures, share);
  shown.assumption = facility.figures.assumption;
  for (const auto& [name, text] :
       facility_rows(facility.rates, facility.measured, shown, tokens_of(run))) {
    facts.row(name, text);
  }
}

void add_load(const RunReport& run, Facts& facts) {
  const Load& load = *run.result.load;
  facts.row("window", fmt::format("{} to {}", wall_time(load.window.start_unix_s, Zone::local()),
                                  wall_time(load.window.end_unix_s, Zone::local())));
  std::string source =
      fmt::format("{:.3f} s, {}: {}", load.window.duration_s(), source_of(run.result),
                  explained_window(source_of(run.result), run.result.is_window_in_command));
  if (const auto& width_s = run.result.window_half_width_s) {
    source += fmt::format(", give or take {:.1f} s", std::max(0.1, *width_s));
  }
  facts.row("", source);
  std::vector<std::string> counts;
  const auto count = [&](std::int64_t value, const char* what) {
    if (value > 0) counts.push_back(fmt::format("{} {}", value, what));
  };
  count(load.completed, "requests");
  count(static_cast<std::int64_t>(run.failed_requests), "failed");
  count(load.total_input_tokens, "input tokens");
  count(load.total_output_tokens, "output tokens");
  if (!counts.empty()) facts.row("load", joined_text(counts, ", "));
}

std::string seen_text(const WitnessResult& witness, const Result& result) {
  const std::string name = printable(witness.facts.name);
  if (!witness.seen.fault.empty())
    return fmt::format("{}: not known: {}", name, witness.seen.fault);
  const double mean_w = witness.seen.energy_j / result.load->window.duration_s();
  std::string text = fmt::format("{} ({}): {:.1f} J, {:.2f} W", name, witness.facts.scope,
                                 witness.seen.energy_j, mean_w);
  if (witness.gpu_ratio)
    text += fmt::format(", {:.1f} % of it the GPUs'", 100 * *witness.gpu_ratio);
  return text;
}

// What the commands that publish the energy need.
std::string valid_text(const RunReport& run) {
  if (run.needed_window.empty()) return "yes";
  return fmt::format("yes, over a window that is {}: --out and plot need --window {}",
                     run.needed_window == "wrapped" ? "the whole command's" : "estimated",
                     run.needed_window);
}

std::string run_text(const RunReport& run) {
  const Result& result = run.result;
  Facts facts;
  if (!run.benchmark.empty()) facts.row("benchmark", run.benchmark);
  if (!result.load_generator.empty()) facts.row("generator", result.load_generator);
  facts.row("telemetry", printable_path(result.telemetry_source));
  if (result.load) add_load(run, facts);
  if (result.observed_gpus > 0) {
    facts.row("GPUs", fmt::format("{} ({})", result.observed_gpus,
                                  printable(joined_text(result.observed_gpu_ids, ", "), 200)));
  }
  if (!result.limits.empty()) facts.row("power limit", results::limits_text(result.limits));
  add_energy(run, facts);
  if (run.facility) add_facility_facts(run, facts);
  if (const auto text = results::salvage_text(result)) facts.row("salvaged", *text);
  if (result.request_energy) facts.row("requests", request_energy_text(*result.request_energy));
  if (result.phase_energy) facts.row("phases", phase_energy_text(*result.phase_energy));
  if (result.good_work) facts.rows("good work", good_work_texts(*result.good_work));
  if (!run.roles.empty()) {
    facts.rows("roles", runs::role_texts(run.roles, good_work_in(result), window_s(result)));
  }
  if (const auto& correct = result.answers) {
    facts.rows("correct", correct_answers_texts(*correct));
  }
  if (const auto texts = idle_texts(result)) {
    facts.row("idle", texts->idle);
    facts.row("net", texts->net);
  }
  for (const WitnessResult& witness : result.witnesses) {
    facts.row("witness", seen_text(witness, result));
  }
  if (result.modelled_node) facts.row("node", modelled_node_text(*result.modelled_node));
  facts.row("valid", result.is_valid() ? valid_text(run) : "no: " + result.reasons.text());
  for (const std::string& remedy : remedy_lines(result, result.reasons))
    facts.row("  what to do", remedy);
  for (const std::string& hint : result.hints) facts.row("  hint", hint);
  for (const std::string& warning : result.warnings) facts.row("warning", warning);
  return std::move(facts.text);
}

// The shortest --max-sample-gap in whole seconds that accepts all gaps; empty: they are not known.
std::string gap_option(const Result& result) {
  double longest_s = 0;
  for (const GpuResult& gpu : result.gpus) {
    if (!gpu.energy.bracketed) return {};
    longest_s = std::max(longest_s, gpu.energy.max_sample_gap_s);
  }
  return longest_s > 0 ? fmt::format(" {:.0f}", std::ceil(longest_s)) : std::string();
}

// What accepts a window that is not exact, as the reason's detail names it, or replaces it.
std::string window_remedy(const Reasons::Entry& entry) {
  std::vector<std::string_view> named;
  for (const std::string_view option :
       {"--window estimated", "--window wrapped", "--result-timezone"}) {
    if (entry.detail.find(option) != std::string::npos) named.push_back(option);
  }
  std::string other = "give --start and --end";
  if (entry.obstacle != Obstacle::recorded_command) {
    other = "record the run with 'aggregate-power-monitor run', or " + other;
  }
  return named.empty() ? other : fmt::format("give {}; or {}", fmt::join(named, " or "), other);
}

bool is_of_header(Reason reason) {
  return reason == Reason::timestamp_column_missing || reason == Reason::power_column_missing ||
         reason == Reason::gpu_identity_column_missing;
}

// Of a file that is something else than a recording with a header: what its detail names
// ("...; run_summary") or says. No column that is recorded or named would help then. Empty: it is
// such a recording.
std::string other_file_remedy(const std::string& detail) {
  for (const Reason known : all_reasons()) {
    const std::size_t at =
        group(known) == ReasonGroup::header ? detail.find(code(known)) : detail.npos;
    if (at == detail.npos || (at > 0 && !detail.substr(0, at).ends_with("; "))) continue;
    const std::string rest = detail.substr(at + code(known).size());
    if (rest.empty() || rest.starts_with(": ")) return std::string(remedy(known));
  }
  const bool is_said = detail.starts_with("this is ") || detail.starts_with("these are ");
  return is_said
             ? "do what the reason says: the file is not a recording of the GPUs' power over time"
             : "";
}

std::string remedy_line(const Result& result, const Reasons::Entry& entry) {
  std::string remedy(remedy_for(result.load_generator, entry.reason, entry.obstacle));
  if (entry.reason == Reason::sampling_gap_exceeded) remedy += gap_option(result);
  if (entry.reason == Reason::window_not_exact) remedy = window_remedy(entry);
  return fmt::format("{}: {}", code(entry.reason), remedy);
}

}  // namespace

std::vector<std::string> remedy_lines(const Result& result, const Reasons& reasons) {
  std::vector<std::string> lines;
  bool is_other_file = false;
  for (const Reasons::Entry& entry : reasons.entries()) {
    const std::string other =
        is_of_header(entry.reason) ? other_file_remedy(entry.detail) : std::string();
    if (!is_other_file || !is_of_header(entry.reason)) {
      lines.push_back(other.empty() ? remedy_line(result, entry)
                                    : fmt::format("{}: {}", code(entry.reason), other));
    }
    is_other_file = is_other_file || !other.empty();
  }
  return lines;
}

Settings run_configuration(const LoadReading& load, const Result& result,
                           const GivenSettings& given) {
  Settings configuration;
  const auto add = [&](std::string_view key, const std::string& text) {
    const auto is_known = [&](const auto& member) { return member.first == key; };
    if (text.empty() || std::ranges::any_of(configuration, is_known)) return;
    configuration.emplace_back(key, text);
  };
  for (const auto& [key, text] : given.settings) add(key, text);
  if (result.telemetry && result.telemetry->series.gpu_models.size() == 1) {
    add("hw", result.telemetry->series.gpu_models[0]);
  }
  add("hw", given.gpu_model);
  if (result.observed_gpus > 0) add("gpu_count", fmt::format("{}", result.observed_gpus));
  if (const auto limit_w = results::common_limit_w(result.limits)) {
    add("power_limit_w", fmt::format("{}", *limit_w));
  }
  if (result.telemetry) {
    for (const auto& [key, text] : result.telemetry->series.settings) add(key, text);
  }
  add("generator", result.load_generator);
  for (const auto& [path, text] : load.settings) {
    if (const std::string_view name = loads::setting_name(path); !name.empty()) add(name, text);
  }
  for (const auto& [name, text] : load.configuration) add(name, text);
  add("model", load.model);
  if (load.max_concurrency.is_finite_number()) add("conc", load.max_concurrency.text);
  std::vector<std::string> keys;
  for (const auto& [key, text] : given.settings) keys.push_back(key);
  add("settings", joined_text(keys, ","));
  return configuration;
}

bool is_measured_member(std::string_view key) {
  return kRunKeys.find(fmt::format(" {} ", key)) != kRunKeys.npos || key.starts_with(kPowerValid) ||
         is_our_key(key);
}

std::string configuration_json(const std::string& text) {
  const auto number = Json::parse(text, nullptr, false);
  if (number.is_number()) return text;
  return line_text(text);
}

std::string_view explained_window(std::string_view source, bool is_in_command) {
  if (is_in_command) return "a duration, placed by the power inside the recorded command";
  constexpr std::pair<std::string_view, std::string_view> kSources[] = {
      {"exact", "stated by the result"},
      {"tied", "the result's monotonic clock, by the recorder's clocks"},
      {"wrapped", "the command that the recorder ran"},
      {"session", "the generator's whole session, with its set-up"},
      {"estimated", "a stamp and a duration, placed by the power"},
      {"given", "on the command line"}};
  const auto found = std::ranges::find(kSources, source, [](const auto& row) { return row.first; });
  return found == std::end(kSources) ? std::string_view() : found->second;
}

std::string report_json(const std::vector<RunReport>& runs) {
  return indented_lines(
      {{"schema", "aggregate-power/measure-2"}, {"runs", list_of(runs, run_json)}});
}

std::string report_text(const std::vector<RunReport>& runs) {
  std::string text;
  for (const RunReport& run : runs) text += (text.empty() ? "" : "\n") + run_text(run);
  return text;
}

}  // namespace aggregate_power
