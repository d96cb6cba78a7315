// The table of gauges, and how a run and a window fill them.
#include "views/export/metric_families.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "base/text/characters.h"
#include "decide/compare/facility.h"
#include "energy/shares/facility.h"

namespace aggregate_power {
namespace {

struct NumberRow {
  std::string_view key;  // of the aggregate
  std::string_view name;
  GaugeUnit unit;
  std::string_view help;
  double scale = 1;
};

// In the order of the output. avg_mem_used_mb is missing: the size of its megabyte is the tool's.
constexpr auto kNumbers = std::to_array<NumberRow>({
    {"total_gpu_energy_j", "energy", GaugeUnit::joules,
     "Energy of all GPUs in the window of the benchmark"},
    {"avg_total_gpu_power_w", "mean_power", GaugeUnit::watts,
     "Mean power of all GPUs together in the window"},
    {"avg_power_w", "gpu_mean_power", GaugeUnit::watts, "Mean power of one GPU in the window"},
    {"p75_total_gpu_power_w", "p75_power", GaugeUnit::watts,
     "Power of all GPUs together that is not exceeded for 75 % of the window"},
    {"p90_total_gpu_power_w", "p90_power", GaugeUnit::watts,
     "Power of all GPUs together that is not exceeded for 90 % of the window"},
    {"p75_power_w", "gpu_p75_power", GaugeUnit::watts, "The same for 75 %, by the number of GPUs"},
    {"p90_power_w", "gpu_p90_power", GaugeUnit::watts, "The same for 90 %, by the number of GPUs"},
    {"joules_per_successful_query", "energy_per_request", GaugeUnit::joules,
     "Energy by the number of completed requests"},
    {"joules_per_input_token", "energy_per_input_token", GaugeUnit::joules,
     "Energy by the number of input tokens"},
    {"joules_per_output_token", "energy_per_output_token", GaugeUnit::joules,
     "Energy by the number of output tokens"},
    {"joules_per_total_token", "energy_per_token", GaugeUnit::joules,
     "Energy by the number of input and output tokens"},
    {"prefill_gpu_energy_j", "prefill_energy", GaugeUnit::joules,
     "Energy of the GPUs of prefill in the window"},
    {"prefill_avg_power_w", "prefill_gpu_mean_power", GaugeUnit::watts,
     "Mean power of one GPU of prefill"},
    {"prefill_joules_per_input_token", "prefill_energy_per_input_token", GaugeUnit::joules,
     "Energy of prefill by the number of input tokens"},
    {"decode_gpu_energy_j", "decode_energy", GaugeUnit::joules,
     "Energy of the GPUs of decode in the window"},
    {"decode_avg_power_w", "decode_gpu_mean_power", GaugeUnit::watts,
     "Mean power of one GPU of decode"},
    {"decode_joules_per_output_token", "decode_energy_per_output_token", GaugeUnit::joules,
     "Energy of decode by the number of output tokens"},
    {"total_cpu_energy_j", "cpu_energy", GaugeUnit::joules, "Energy of all CPU sockets"},
    {"avg_total_cpu_power_w", "cpu_mean_power", GaugeUnit::watts, "Mean power of all CPU sockets"},
    {"avg_cpu_socket_power_w", "cpu_socket_mean_power", GaugeUnit::watts,
     "Mean power of one CPU socket"},
    {"total_module_energy_j", "module_energy", GaugeUnit::joules,
     "Energy of all modules: CPU, GPU and memory together"},
    {"avg_total_module_power_w", "module_mean_power", GaugeUnit::watts,
     "Mean power of all modules: CPU, GPU and memory together"},
    {"total_cpu_rail_energy_j", "cpu_rail_energy", GaugeUnit::joules, "Energy of the CPUs' rails"},
    {"avg_total_cpu_rail_power_w", "cpu_rail_mean_power", GaugeUnit::watts,
     "Mean power of the CPUs' rails"},
    {"total_cpu_sysio_energy_j", "cpu_sysio_energy", GaugeUnit::joules,
     "Energy of the CPUs' system I/O"},
    {"avg_total_cpu_sysio_power_w", "cpu_sysio_mean_power", GaugeUnit::watts,
     "Mean power of the CPUs' system I/O"},
    {"avg_temp_c", "gpu_mean_temperature", GaugeUnit::celsius, "Mean temperature of the GPUs"},
    {"peak_temp_c", "gpu_peak_temperature", GaugeUnit::celsius,
     "Highest temperature of a GPU in the window"},
    {"avg_util_pct", "gpu_mean_utilization", GaugeUnit::ratio, "Mean utilization of the GPUs",
     0.01},
});

constexpr std::string_view kOwnLabels[] = {"run",    "gpu",    "window",   "number",  "basis",
                                           "reason", "source", "boundary", "currency"};

std::string label_value(std::string_view text) {
  constexpr std::size_t kMost = 100;  // characters
  return printable(text, kMost);
}

struct Gauge {
  std::string name;
  GaugeUnit unit = GaugeUnit::none;
  std::string help;
  bool is_count = false;
};

// Families in the order in which they were first named.
class FamilyTable {
 public:
  void add(Gauge gauge, GaugeSample sample) {
    if (!std::isfinite(sample.value)) return;
    auto found = std::ranges::find(families_, gauge.name, &GaugeFamily::name);
    if (found == families_.end()) {
      families_.push_back(
          {std::move(gauge.name), gauge.unit, std::move(gauge.help), gauge.is_count, {}});
      found = std::prev(families_.end());
    }
    found->samples.push_back(std::move(sample));
  }
  std::vector<GaugeFamily> take() && { return std::move(families_); }

 private:
  std::vector<GaugeFamily> families_;
};

std::vector<GaugeLabel> labelled(Basis basis) {
  return {{"basis", std::string(basis_name(basis))}};
}

class RunGauges {
 public:
  RunGauges(FamilyTable& table, const ExportedRun& run, const FacilityRates& rates)
      : table_(table), run_(run), rates_(rates), subject_(gauge_subject(run)) {}

  void add_all() {
    const PublishedRun& run = run_.run;
    add_verdict();
    if (run.state == PowerState::valid) {
      add_numbers();
      add_boundaries();
      add_limit();
      add_cost();
    }
    if (run.start_unix_s > 0) {
      add({"run_start_time", GaugeUnit::seconds, "Start of the window, in Unix time"},
          run.start_unix_s);
      add({"run_end_time", GaugeUnit::seconds, "End of the window, in Unix time"},
          run_.end_unix_s());
    }
    if (run.duration_s > 0) {
      add({"run_duration", GaugeUnit::seconds, "Time from the start to the end of the window"},
          run.duration_s);
    }
    add_count("run_gpus", "GPUs that were measured", static_cast<std::int64_t>(run.gpu_ids.size()));
    add_count("completed_requests", "Requests that were completed in the run",
              run.completed_requests);
    add_count("input_tokens", "Input tokens of the run", run.input_tokens);
    add_count("output_tokens", "Output tokens of the run", run.output_tokens);
  }

 private:
  void add(Gauge gauge, double value, std::vector<GaugeLabel> more = {}) {
    table_.add(std::move(gauge), {subject_, value, std::move(more)});
  }

  void add_count(const char* name, const char* help, std::int64_t count) {
    if (count > 0) add({name, GaugeUnit::none, help, true}, static_cast<double>(count));
  }

  // Only words of ours become labels.
  std::vector<std::string> reason_words() const {
    if (run_.run.is_impossible) return {"impossible_number"};
    if (!run_.run.doubt.empty()) return {"contradicts_its_record"};
    std::vector<std::string> words;
    for (const std::string& code : run_.run.reasons) {
      std::string word = reason_of(code) ? code : "unknown_code";
      if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
    }
    return words.empty() ? std::vector<std::string>{"not_stated"} : words;
  }

  void add_verdict() {
    const bool is_valid = run_.run.state == PowerState::valid;
    add({"run_valid", GaugeUnit::none, "1 if the power of the run is valid, 0 if not", true},
        is_valid ? 1 : 0);
    if (is_valid) return;
    for (std::string& word : reason_words()) {
      add({"run_reason", GaugeUnit::none, "1 for each reason why the power of the run is not valid",
           true},
          1, {{"reason", std::move(word)}});
    }
  }

  void add_numbers() {
    for (const NumberRow& row : kNumbers) {
      const auto number = run_.run.number(row.key);
      if (!number) continue;
      const std::string name(row.name);
      const std::string help(row.help);
      add({name, row.unit, help}, number->value * row.scale, labelled(Basis::measured));
      if (number->flowed) {
        add({name + "_low", row.unit, help + ": lower end of its 95 % interval"},
            number->flowed->low * row.scale, labelled(Basis::measured));
        add({name + "_high", row.unit, help + ": upper end of its 95 % interval"},
            number->flowed->high * row.scale, labelled(Basis::measured));
      }
      if (row.key == "total_gpu_energy_j") add_gpus();
    }
  }

  void add_gpus() {
    for (const auto& [gpu, energy_j] : run_.run.gpu_energies_j) {
      std::vector<GaugeLabel> more = labelled(Basis::measured);
      more.push_back({"gpu", label_value(*gpu)});
      add({"gpu_energy", GaugeUnit::joules, "Energy of each GPU in the window"}, energy_j,
          std::move(more));
    }
  }

  void add_boundaries() {
    for (const BoundaryPower& rung : run_.rungs) {
      if (rung.basis == Basis::measured) continue;  // it is `energy`
      const auto add_known = [&](const char* name, GaugeUnit unit, const char* what,
                                 const std::optional<double>& value) {
        const std::string help =
            fmt::format("{} of the {}: what was measured, by stated factors", what, rung.boundary);
        if (value) add({rung.boundary + name, unit, help}, *value, labelled(rung.basis));
      };
      add_known("_energy", GaugeUnit::joules, "Modelled energy", rung.energy_j);
      add_known("_mean_power", GaugeUnit::watts, "Modelled mean power", rung.power_w);
      add_known("_energy_per_output_token", GaugeUnit::joules, "Modelled energy per output token",
                rung.joules_per_output_token);
    }
  }

  void add_limit() {
    if (!run_.limit) return;
    const RunLimit& limit = *run_.limit;
    const auto add_known = [&](const char* name, GaugeUnit unit, const char* help,
                               const std::optional<double>& value) {
      if (value) add({name, unit, help}, *value, labelled(Basis::modelled));
    };
    add_known("gpu_power_limit", GaugeUnit::watts,
              "Power limit of one GPU, as its maker states it (TDP)", limit.watts);
    add_known("gpu_power_to_limit", GaugeUnit::ratio, "Mean power of one GPU by its power limit",
              limit.power_ratio);
    add_known("provisioned_energy_per_output_token", GaugeUnit::joules,
              "Energy per output token if the GPUs had drawn their power limit",
              limit.joules_per_output_token);
  }

  // Money has no unit of its own: its currency is a label, if it is named.
  void add_cost() {
    if (!run_.cost) return;
    std::vector<GaugeLabel> more = labelled(run_.cost->basis);
    more.push_back({"boundary", run_.cost->boundary});
    const auto add_all_of = [&](const char* name, GaugeUnit unit, const std::string& what,
                                std::optional<double> value) {
      const TokenCounts tokens = tokens_of(run_.run);
      const std::pair<const char*, std::optional<double>> kParts[] = {
          {"", value},
          {"_per_million_output_tokens", per_million(value, tokens.output)},
          {"_per_million_tokens", per_million(value, tokens.total())}};
      for (const auto& [end, part] : kParts) {
        const std::string per = *end == '\0' ? "" : std::string(end);
        std::string help = what;
        if (!per.empty())
          help += per == "_per_million_tokens" ? ", per million input and output tokens"
                                               : ", per million output tokens";
        if (part) add({name + per, unit, help}, *part, more);
      }
    };
    add_all_of("carbon", GaugeUnit::grams, "CO2 equivalents of the energy inside the boundary",
               run_.cost->figures.carbon_g);
    if (!rates_.currency.empty()) more.push_back({"currency", label_value(rates_.currency)});
    add_all_of("cost", GaugeUnit::none,
               "Cost of the energy inside the boundary, in the currency of its price",
               run_.cost->figures.cost);
  }

  FamilyTable& table_;
  const ExportedRun& run_;
  const FacilityRates& rates_;
  std::shared_ptr<const GaugeSubject> subject_;
};

void add_window(FamilyTable& table, const std::string& file, const ExportedWindow& window) {
  const auto subject =
      std::make_shared<const GaugeSubject>(GaugeSubject{{{"run", file},
                                                         {"window", label_value(window.name)},
                                                         {"number", std::to_string(window.number)}},
                                                        {},
                                                        window.window.end_unix_s});
  const auto add = [&](Gauge gauge, const std::optional<double>& value,
                       std::vector<GaugeLabel> more = {}) {
    if (!value) return;
    table.add(std::move(gauge), {subject, *value, std::move(more)});
  };
  add({"window_valid", GaugeUnit::none, "1 if all GPUs were measured in the window, 0 if not",
       true},
      window.reason.empty() ? 1 : 0);
  add({"window_energy", GaugeUnit::joules,
       "Energy of all GPUs in the window, with that of the windows inside it"},
      window.energy_j, labelled(Basis::measured));
  for (const auto& [gpu, energy_j] : window.gpu_energies_j) {
    std::vector<GaugeLabel> more = labelled(Basis::measured);
    more.push_back({"gpu", label_value(gpu)});
    add({"window_gpu_energy", GaugeUnit::joules,
         "Energy of each GPU in the window, with that of the windows inside it"},
        energy_j, std::move(more));
  }
  add({"window_own_energy", GaugeUnit::joules,
       "Energy of all GPUs in the window outside of the windows inside it"},
      window.own_energy_j, labelled(Basis::measured));
  add({"window_mean_power", GaugeUnit::watts, "Mean power of all GPUs together in the window"},
      window.mean_power_w, labelled(Basis::measured));
  add({"window_duration", GaugeUnit::seconds, "Time from the start to the end of the window"},
      window.window.duration_s());
}

}  // namespace

std::shared_ptr<const GaugeSubject> gauge_subject(const ExportedRun& run) {
  return std::make_shared<const GaugeSubject>(
      GaugeSubject{{{"run", run.name}}, run.configuration, run.end_unix_s()});
}

std::string label_name(std::string_view key) {
  std::string name;
  for (const char c : key) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  const bool is_reserved = name.starts_with("__") || name.empty();
  const bool is_ours = std::ranges::find(kOwnLabels, name) != std::end(kOwnLabels);
  const bool is_number = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  return is_reserved || is_ours || is_number ? "config_" + name : name;
}

std::string prometheus_name(std::string_view name, GaugeUnit unit) {
  constexpr std::string_view kSuffixes[] = {"",       "_joules",  "_watts", "_seconds",
                                            "_ratio", "_celsius", "_grams"};
  return fmt::format("{}{}", name, kSuffixes[static_cast<std::size_t>(unit)]);
}

std::vector<GaugeFamily> gauge_families(Exported exported) {
  FamilyTable table;
  for (ExportedRun& run : exported.runs) {
    RunGauges(table, run, exported.rates).add_all();
    run = {};
  }
  for (const ExportedWindows& file : exported.windows) {
    if (file.windows.size() > kMostWindowSeries) {
      throw Error(fmt::format(
          "{}: has {} windows, and each would be a series of its own; at most {}: use --format csv or jsonl",
          file.source, file.windows.size(), kMostWindowSeries));
    }
    for (const ExportedWindow& window : file.windows) add_window(table, file.name, window);
  }
  return std::move(table).take();
}

}  // namespace aggregate_power
