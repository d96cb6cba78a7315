// Lays out what a benchmark used.
#include "runs/measure/measure_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/facility.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "base/text/time_zone.h"
#include "core/load/stated_settings.h"
#include "core/record/edits.h"
#include "core/record/efficiency_json.h"
#include "core/record/limits_json.h"
#include "core/record/record_numbers.h"
#include "core/record/record_write.h"
#include "core/record/request_json.h"
#include "core/record/salvage_json.h"
#include "runs/measure/facility.h"
#include "runs/measure/interval_text.h"

namespace aggregate_power {
namespace {

const Metric* metric(const Result& result, std::string_view key) {
  const auto found = std::ranges::find(result.metrics, key, &Metric::key);
  return found == result.metrics.end() ? nullptr : &*found;
}

std::string source_of(const Result& result) {
  return result.window_source.empty() ? "exact" : result.window_source;
}

std::vector<std::string> remedies(const Result& result) {
  std::vector<std::string> texts;
  for (const Reasons::Entry& entry : result.reasons.entries()) {
    texts.push_back(fmt::format("{}: {}", code(entry.reason),
                                remedy_for(result.load_generator, entry.reason, entry.obstacle)));
  }
  return texts;
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

// A key of a run, and its value; nullopt: the run does not have it.
struct RunKey {
  const char* key;
  std::optional<Json> (*value)(const RunReport& run);
};

template <typename Value>
std::optional<Json> json_if(bool is_there, const Value& value) {
  return is_there ? std::optional(Json(value)) : std::nullopt;
}

std::optional<Json> count_json(const RunReport& run, std::int64_t Load::*count) {
  const auto& load = run.result.load;
  return load ? json_if(*load.*count > 0, *load.*count) : std::nullopt;
}

// The bounds of the energy, unless its window is an estimate.
std::optional<Json> bound_json(const RunReport& run, double Interval::*bound) {
  const Metric* const energy = metric(run.result, "total_gpu_energy_j");
  if (energy == nullptr || !energy->interval) return std::nullopt;
  return rounded((*results::best_number(run.result, *energy).bounds).*bound, kAuditDecimals);
}

std::optional<Json> of_joules(const RunReport& run, const char* key, double (*number)(double)) {
  const auto joules = value_of(run.result.metrics, key);
  if (!(joules > 0.0)) return std::nullopt;
  return rounded(number(*joules), kAuditDecimals);
}

constexpr RunKey kRunKeys[] = {
    {"valid", [](const RunReport& run) { return json_if(true, run.result.is_valid()); }},
    {"window_source",
     [](const RunReport& run) {
       return std::optional(run.result.load ? Json(source_of(run.result)) : Json());
     }},
    {"window",
     [](const RunReport& run) {
       if (!run.result.load) return std::optional(Json());
       const Window window = run.result.load->window;
       return std::optional(
           Json({{"start_unix", window.start_unix_s}, {"end_unix", window.end_unix_s}}));
     }},
    {"window_half_width_s",
     [](const RunReport& run) {
       const auto& width_s = run.result.window_half_width_s;
       return json_if(run.result.load && width_s, rounded(width_s.value_or(0), kAuditDecimals));
     }},
    {"duration_s",
     [](const RunReport& run) {
       const auto& load = run.result.load;
       return json_if(load.has_value(),
                      rounded(load ? load->window.duration_s() : 0, kAuditDecimals));
     }},
    {"gpu_count", [](const RunReport& run) { return json_if(true, run.result.observed_gpus); }},
    {"gpu_ids", [](const RunReport& run) { return json_if(true, run.result.observed_gpu_ids); }},
};

// After the metric "total_gpu_energy_j".
constexpr RunKey kEnergyKeys[] = {
    {"total_gpu_energy_wh",
     [](const RunReport& run) {
       const auto joules = value_of(run.result.metrics, "total_gpu_energy_j");
       return json_if(joules.has_value(),
                      rounded(joules.value_or(0) / kJoulesInWattHour, kAuditDecimals));
     }},
    {"energy_j_low", [](const RunReport& run) { return bound_json(run, &Interval::low); }},
    {"energy_j_high", [](const RunReport& run) { return bound_json(run, &Interval::high); }},
};

constexpr RunKey kLaterKeys[] = {
    {"tokens_per_joule",
     [](const RunReport& run) {
       return of_joules(run, "joules_per_output_token", [](double joules) { return 1 / joules; });
     }},
    {"wh_per_1000_output_tokens",
     [](const RunReport& run) {
       return of_joules(run, "joules_per_output_token",
                        [](double joules) { return 1000 * joules / kJoulesInWattHour; });
     }},
    {"wh_per_query",
     [](const RunReport& run) {
       const auto joules = value_of(run.result.metrics, "joules_per_successful_query");
       return json_if(joules.has_value(),
                      rounded(joules.value_or(0) / kJoulesInWattHour, kAuditDecimals));
     }},
    {"power_limits",
     [](const RunReport& run) {
       return json_if(!run.result.limits.empty(), results::limits_json(run.result.limits));
     }},
    {"performance_per_watt",
     [](const RunReport& run) {
       if (!results::gpu_leg(run.result)) return std::optional<Json>();
       return std::optional<Json>(results::efficiency_json(run.result));
     }},
    {"generator_energy_j",
     [](const RunReport& run) {
       return json_if(run.stated_energy_j.has_value(), run.stated_energy_j.value_or(0));
     }},
    {"generator_energy_relative_error",
     [](const RunReport& run) {
       const auto error = stated_error(run);
       return json_if(error.has_value(), error.value_or(0));
     }},
    {"facility",
     [](const RunReport& run) {
       if (!run.facility) return std::optional<Json>();
       const FacilityReport& facility = *run.facility;
       return std::optional<Json>(
           facility_json(facility.rates, facility.measured, facility.figures, tokens_of(run)));
     }},
    {"completed_requests", [](const RunReport& run) { return count_json(run, &Load::completed); }},
    {"input_tokens",
     [](const RunReport& run) { return count_json(run, &Load::total_input_tokens); }},
    {"output_tokens",
     [](const RunReport& run) { return count_json(run, &Load::total_output_tokens); }},
    {"failed_requests",
     [](const RunReport& run) {
       return json_if(run.result.load && run.failed_requests > 0, run.failed_requests);
     }},
    {"counts_are_approximate",
     [](const RunReport& run) {
       return json_if(run.result.load && run.has_approximate_counts, true);
     }},
    {"request_energy",
     [](const RunReport& run) {
       const Result& result = run.result;
       if (!result.request_energy) return std::optional<Json>();
       return std::optional<Json>(request_energy_json(*result.request_energy, result.is_valid()));
     }},
    {"phase_energy",
     [](const RunReport& run) {
       const Result& result = run.result;
       if (!result.phase_energy) return std::optional<Json>();
       return std::optional<Json>(phase_energy_json(*result.phase_energy, result.is_valid()));
     }},
    {"idle",
     [](const RunReport& run) {
       if (!run.result.idle) return std::optional<Json>();
       return std::optional<Json>(idle_json(run.result, run.result.is_valid()));
     }},
    {"uncertainty",
     [](const RunReport& run) {
       if (interval_of(run.result) == nullptr) return std::optional<Json>();
       return std::optional<Json>(uncertainty_json(run.result, run.result.is_valid()));
     }},
    {"salvage",
     [](const RunReport& run) {
       const Result& result = run.result;
       if (!result.salvaged) return std::optional<Json>();
       return std::optional<Json>(
           results::salvage_json(*result.salvaged, results::lacks_only_samples(result)));
     }},
    {"telemetry",
     [](const RunReport& run) {
       return json_if(true, printable_path(run.result.telemetry_source));
     }},
    {"reasons", [](const RunReport& run) { return json_if(true, run.result.reasons.codes()); }},
    {"accepted_reasons",
     [](const RunReport& run) {
       return json_if(!run.result.accepted.empty(), run.result.accepted.codes());
     }},
    {"details", [](const RunReport& run) { return json_if(true, run.result.reasons.text()); }},
    {"remedies", [](const RunReport& run) { return json_if(true, remedies(run.result)); }},
    {"warnings", [](const RunReport& run) { return json_if(true, run.result.warnings); }},
};

void add_keys_of(const RunReport& run, std::span<const RunKey> keys, Json& json) {
  for (const RunKey& one : keys) {
    if (auto value = one.value(run)) json[one.key] = std::move(*value);
  }
}

Json run_json(const RunReport& run) {
  Json json;
  if (!run.benchmark.empty()) json["benchmark"] = run.benchmark;
  const std::string& generator = run.result.load_generator;
  json["generator"] = generator.empty() ? Json() : Json(generator);
  for (const auto& [key, text] : run.configuration) {
    json[key] = Json::parse(configuration_json(text));
  }
  add_keys_of(run, kRunKeys, json);
  for (const Metric& each : run.result.metrics) {
    json[std::string(each.key)] = rounded(each.value, kAuditDecimals);
    if (each.key == "total_gpu_energy_j") add_keys_of(run, kEnergyKeys, json);
  }
  add_keys_of(run, kLaterKeys, json);
  return json;
}

class Table {
 public:
  void row(std::string_view name, std::string_view value) {
    constexpr std::size_t kWidth = 80;
    constexpr std::size_t kIndent = 14;
    std::string line = fmt::format("{:<{}}", name, kIndent);
    std::string_view rest = value;
    while (line.size() + rest.size() > kWidth) {
      const std::size_t room = kWidth - line.size();
      std::size_t cut = rest.rfind(' ', room);
      if (cut == rest.npos || cut == 0) cut = std::min(rest.find(' '), rest.size());
      text_ += line.append(rest.substr(0, cut)) + "\n";
      rest.remove_prefix(std::min(cut + 1, rest.size()));
      line.assign(kIndent, ' ');
      if (rest.empty()) return;
    }
    text_ += line.append(rest) + "\n";
  }
  // Not wrapped: it is looked for in one line.
  void whole_row(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<14}{}\n", name, value);
  }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_energy(const RunReport& run, Table& table) {
  const Metric* const energy = metric(run.result, "total_gpu_energy_j");
  if (energy == nullptr) return;
  const auto watts = [&](std::string_view key) {
    return value_of(run.result.metrics, key).value_or(0);
  };
  table.row("power", fmt::format("{:.2f} W each GPU, {:.2f} W together", watts("avg_power_w"),
                                 watts("avg_total_gpu_power_w")));
  table.whole_row("energy", results::energy_text(run.result, *energy));
  table.row("", results::published_text(run.result, *energy));
  for (const auto& [ratio, what] : results::ratios_of(run.result)) {
    const bool is_approximate = run.has_approximate_counts && what != "request";
    const std::string text = results::ratio_text(run.result, *ratio, what);
    table.row("", is_approximate ? text + ", approximately" : text);
  }
  if (const std::string rates = results::rates_text(run.result); !rates.empty()) {
    table.row("", run.has_approximate_counts ? rates + ", approximately" : rates);
  }
  for (const std::string& efficiency : results::efficiency_texts(run.result)) {
    table.row("", run.has_approximate_counts ? efficiency + ", approximately" : efficiency);
  }
  if (run.stated_energy_j) {
    const double share = 100 * stated_error(run).value_or(0);
    table.row("", fmt::format("{:.1f} J by the generator's own figure ({:+.1f} %)",
                              *run.stated_energy_j, share));
  }
}

void add_load(const RunReport& run, Table& table) {
  const Load& load = *run.result.load;
  table.row("window", fmt::format("{} to {}", wall_time(load.window.start_unix_s, Zone::local()),
                                  wall_time(load.window.end_unix_s, Zone::local())));
  std::string source =
      fmt::format("{:.3f} s, {}: {}", load.window.duration_s(), source_of(run.result),
                  explained_window(source_of(run.result), run.result.is_window_in_command));
  if (const auto& width_s = run.result.window_half_width_s) {
    source += fmt::format(", give or take {:.1f} s", std::max(0.1, *width_s));
  }
  table.row("", source);
  std::vector<std::string> counts;
  const auto count = [&](std::int64_t value, const char* what) {
    if (value > 0) counts.push_back(fmt::format("{} {}", value, what));
  };
  count(load.completed, "requests");
  count(static_cast<std::int64_t>(run.failed_requests), "failed");
  count(load.total_input_tokens, "input tokens");
  count(load.total_output_tokens, "output tokens");
  if (!counts.empty()) table.row("load", fmt::format("{}", fmt::join(counts, ", ")));
}

std::string run_text(const RunReport& run) {
  const Result& result = run.result;
  Table table;
  if (!run.benchmark.empty()) table.row("benchmark", run.benchmark);
  if (!result.load_generator.empty()) table.row("generator", result.load_generator);
  table.row("telemetry", printable_path(result.telemetry_source));
  if (result.load) add_load(run, table);
  if (result.observed_gpus > 0) {
    table.row(
        "GPUs",
        fmt::format("{} ({})", result.observed_gpus,
                    printable(fmt::format("{}", fmt::join(result.observed_gpu_ids, ", ")), 200)));
  }
  if (!result.limits.empty()) table.row("power limit", results::limits_text(result.limits));
  add_energy(run, table);
  if (const auto& facility = run.facility) {
    for (const auto& [name, text] :
         facility_rows(facility->rates, facility->measured, facility->figures, tokens_of(run))) {
      table.row(name, text);
    }
  }
  if (const auto text = results::salvage_text(result)) table.row("salvaged", *text);
  if (result.request_energy) table.row("requests", request_energy_text(*result.request_energy));
  if (result.phase_energy) table.row("phases", phase_energy_text(*result.phase_energy));
  if (const auto texts = idle_texts(result)) {
    table.row("idle", texts->idle);
    table.row("net", texts->net);
  }
  table.row("valid", result.is_valid() ? "yes" : fmt::format("no: {}", result.reasons.text()));
  for (const std::string& remedy : remedies(result)) table.row("  what to do", remedy);
  for (const std::string& hint : result.hints) table.row("  hint", hint);
  for (const std::string& warning : result.warnings) table.row("warning", warning);
  return std::move(table).take();
}

}  // namespace

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
  add("settings", fmt::format("{}", fmt::join(keys, ",")));
  return configuration;
}

bool is_measured_member(std::string_view key) {
  const auto has = [&](std::span<const RunKey> keys) {
    return std::ranges::any_of(keys, [&](const RunKey& one) { return key == one.key; });
  };
  return has(kRunKeys) || has(kEnergyKeys) || has(kLaterKeys) || key == "benchmark" ||
         key == "settings" || key.starts_with(kPowerValid) || is_our_key(key);
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
  Json all = Json::array();
  for (const RunReport& run : runs) all.push_back(run_json(run));
  const Json json = {{"schema", "aggregate-power/measure-1"}, {"runs", std::move(all)}};
  return indented_lines(json);
}

std::string report_text(const std::vector<RunReport>& runs) {
  std::string text;
  for (const RunReport& run : runs) text += (text.empty() ? "" : "\n") + run_text(run);
  return text;
}

}  // namespace aggregate_power
