// Reads runs and windows, and gives them names, labels, limits and boundaries.
#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "decide/compare/facility.h"
#include "recorders/energy_rate.h"
#include "runs/measure/facility.h"
#include "store/catalogue/run_record.h"
#include "store/catalogue/unmeasured_runs.h"
#include "views/export/export.h"

namespace aggregate_power {
namespace {

// Nullopt: no rate was asked for, or the run is not valid. The PUE of `rates` is a rung already.
std::optional<RunCost> run_cost(const PublishedRun& run, const std::vector<BoundaryPower>& rungs,
                                const FacilityRates& rates) {
  if (!rates.is_asked() || rungs.empty()) return std::nullopt;
  const BoundaryPower& last = rungs.back();
  FacilityRates at_last = rates;
  at_last.pue.reset();
  RunCost cost{last.boundary, last.basis, facility_of_energy(run, last.energy_j, at_last)};
  if (rates.pue) {
    cost.figures.energy_j = last.energy_j;
    cost.figures.power_w = last.power_w;
  }
  // What each hour used is then assumed, not measured.
  if (!cost.figures.assumption.empty()) cost.basis = Basis::modelled;
  return cost;
}

constexpr std::size_t kLongestLabel = 100;  // characters
constexpr std::string_view kWindowsBegin = "{\n\"schema\": \"aggregate-power/windows-1\"";

bool holds_windows(const OpenedFile& file) {
  std::string begin(kWindowsBegin.size(), '\0');
  return file.read_at(0, begin) == begin.size() && begin == kWindowsBegin;
}

std::optional<double> exported_number(const JsonValue& value) {
  return value.is_finite_number() ? std::optional(value.as_double()) : std::nullopt;
}

ExportedWindow window_in(const JsonValue& json) {
  ExportedWindow window;
  window.number = static_cast<std::size_t>(json.at("number").as_integer().value_or(0));
  window.name = json.at("name").text;
  window.window = {exported_number(json.at("start_unix_s")).value_or(0),
                   exported_number(json.at("end_unix_s")).value_or(0)};
  window.reason = json.at("reason").text;
  window.energy_j = exported_number(json.at("energy_j"));
  window.mean_power_w = exported_number(json.at("mean_power_w"));
  window.own_energy_j = exported_number(json.at("own_energy_j"));
  for (const JsonValue& gpu : json.at("gpus").items) {
    window.gpu_energies_j.emplace_back(gpu.at("gpu").text, exported_number(gpu.at("energy_j")));
  }
  return window;
}

ExportedWindows windows_in(const OpenedFile& file) {
  try {
    ExportedWindows exported{{}, file.name(), {}};
    const JsonValue content = parse_json(read_whole(file, kCommandOutput));
    for (const JsonValue& window : content.at("windows").items) {
      exported.windows.push_back(window_in(window));
    }
    return exported;
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", file.name(), error.what()));
  }
}

// A path on disk that is one file with windows.
std::optional<ExportedWindows> windows_at(const std::string& path) {
  const auto place = place_on_disk(path);
  if (!place) throw FileError(path, "open", ENOENT);
  if (!place->facts) return std::nullopt;
  const OpenedFile file = place->tree->open(place->path);
  return holds_windows(file) ? std::optional(windows_in(file)) : std::nullopt;
}

// Fingerprints are different for each run.
Configuration labels_of(const PublishedRun& run, const std::vector<std::string>& keys) {
  Configuration configuration = configuration_of(run, keys);
  if (keys.empty()) {
    std::erase_if(configuration, [](const auto& one) { return one.first == "recipe_fingerprint"; });
  }
  for (auto& [key, value] : configuration) value = printable(value, kLongestLabel);
  return configuration;
}

NamedExport named_run(const PublishedRun& run) {
  NamedExport named{short_export_name(run.name), run.name, run.start_unix_s + run.duration_s};
  // One of several benchmarks that `measure --json` read.
  const std::string benchmark = run.text_of("benchmark");
  if (!benchmark.empty() && !run.record) {
    named.name += ": " + benchmark;
    named.path += ": " + benchmark;
  }
  return named;
}

std::string hardware_of_run(const PublishedRun& run) {
  std::string first;
  for (const char* const key : {"hw", "hardware", "gpu_model", "gpu"}) {
    const std::string name = run.text_of(key);
    if (first.empty()) first = name;
    if (power_limit_of(name)) return name;
  }
  return first;
}

RunLimit limit_of(const PublishedRun& run, const PowerLimit& limit) {
  RunLimit found{std::string(limit.gpu), limit.watts, std::string(limit.source)};
  const auto power = run.number("avg_power_w");
  if (!power) return found;
  found.power_ratio = power->value / limit.watts;
  if (const auto per_token = run.number("joules_per_output_token"); per_token && power->value > 0) {
    found.joules_per_output_token = per_token->value / *found.power_ratio;
  }
  return found;
}

class ExportReader {
 public:
  explicit ExportReader(const ExportQuestion& question) : question_(question) {}

  Exported read() {
    found_.rates = read_facility_rates(question_.facility);
    found_.rates.pue = question_.factors.pue;
    std::vector<std::string> places;
    for (const std::string& place : question_.places) {
      if (auto windows = windows_at(place)) {
        found_.windows.push_back(std::move(*windows));
      } else {
        places.push_back(place);
      }
    }
    if (!places.empty()) read_runs(places);
    name_runs();
    name_windows();
    return std::move(found_);
  }

 private:
  void read_runs(const std::vector<std::string>& places) {
    PublishedRuns published = read_published_runs(places, question_.most_threads, question_.access);
    if (add_unmeasured_runs(places, question_.measuring, question_.most_threads, published) == 0) {
      note_unused_options(question_.measuring, published.notes);
    }
    found_.notes = std::move(published.notes);
    found_.warnings = std::move(published.warnings);
    append(found_.warnings, facility_doubts(found_.rates));
    found_.runs.reserve(published.runs.size());
    std::size_t without_power = 0;
    for (PublishedRun& run : published.runs) {
      if (run.state == PowerState::none) {
        ++without_power;
      } else {
        found_.runs.push_back(exported(std::move(run)));
      }
    }
    if (without_power > 0) {
      found_.warnings.push_back(
          fmt::format("{} {} no power and {} left out", without_power,
                      without_power == 1 ? "aggregate has" : "aggregates have",
                      without_power == 1 ? "was" : "were"));
    }
    if (!unknown_.empty()) {
      found_.warnings.push_back(fmt::format("no power limit is known of {}: give --tdp WATTS",
                                            fmt::join(unknown_, ", ")));
    }
  }

  ExportedRun exported(PublishedRun run) {
    ExportedRun exported;
    exported.configuration = labels_of(run, question_.labels);
    std::vector<BoundaryPower> rungs = boundary_ladder(run, question_.factors);
    if (question_.wants_limit && run.state == PowerState::valid) exported.limit = find_limit(run);
    exported.cost = run_cost(run, rungs, found_.rates);
    if (rungs.size() > 1) exported.rungs = std::move(rungs);
    if (exported.cost) note_cost(run, *exported.cost);
    note_scope(run);
    exported.run = std::move(run);
    return exported;
  }

  std::optional<RunLimit> find_limit(const PublishedRun& run) {
    if (question_.limit_w) return limit_of(run, {"", *question_.limit_w, "given by --tdp"});
    const std::string name = hardware_of_run(run);
    if (const auto limit = power_limit_of(name)) return limit_of(run, *limit);
    unknown_.insert(name.empty() ? "a run that does not name its GPU" : printable(name));
    return std::nullopt;
  }

  // The first run alone: others lack the same.
  void note_cost(const PublishedRun& run, const RunCost& cost) {
    if (!found_.rates.price && !found_.rates.carbon) return;
    const std::vector<std::string> faults = facility_faults(found_.rates, cost.figures);
    if (faults.empty() || has_cost_fault_) return;
    has_cost_fault_ = true;
    found_.warnings.push_back(fmt::format("some runs lack cost or carbon; the first is {}: {}",
                                          printable(run.name, 200), fmt::join(faults, "; ")));
  }

  void note_scope(const PublishedRun& run) {
    if (!question_.factors.node || (run.scope != "node" && run.scope != "wall")) return;
    found_.warnings.push_back(
        fmt::format("{}: its sensor measured the whole node, so --node-factor is not applied",
                    printable(run.name, 200)));
  }

  void name_runs() {
    const auto named = [&](std::size_t i) { return named_run(found_.runs[i].run); };
    const auto next_name = distinct_names(found_.runs.size(), named, question_.is_by_time);
    for (ExportedRun& run : found_.runs) run.name = next_name();
  }

  void name_windows() {
    const auto named = [&](std::size_t i) {
      const std::string& source = found_.windows[i].source;
      return NamedExport{short_export_name(source), source};
    };
    const auto next_name = distinct_names(found_.windows.size(), named, false);
    for (ExportedWindows& file : found_.windows) file.name = next_name();
  }

  const ExportQuestion& question_;
  Exported found_;
  std::set<std::string> unknown_;  // GPUs without a limit
  bool has_cost_fault_ = false;
};

constexpr std::size_t kLongestExportName = 200;  // characters

std::optional<double> scaled(const PublishedRun& run, std::string_view key, double factor) {
  const auto number = run.number(key);
  return number ? std::optional(number->value * factor) : std::nullopt;
}

BoundaryPower rung(const PublishedRun& run, std::string boundary, Basis basis, double factor) {
  return {std::move(boundary),
          basis,
          factor,
          scaled(run, "total_gpu_energy_j", factor),
          scaled(run, "avg_total_gpu_power_w", factor),
          scaled(run, "joules_per_output_token", factor)};
}

}  // namespace

double ExportedRun::end_unix_s() const {
  return run.start_unix_s > 0 ? run.start_unix_s + run.duration_s : 0;
}

Exported read_exported(const ExportQuestion& question) { return ExportReader(question).read(); }

Exported exported_runs(std::size_t count, const std::function<PublishedRun&(std::size_t)>& run,
                       const FacilityRates& rates) {
  const auto named = [run](std::size_t i) { return named_run(run(i)); };
  Exported found;
  found.rates = rates;
  found.more_runs = [next_name = distinct_names(count, named, false), run, rates, count,
                     i = std::size_t{0}]() mutable -> std::optional<ExportedRun> {
    if (i == count) return std::nullopt;
    ExportedRun one;
    one.name = next_name();
    one.run = std::move(run(i++));
    one.configuration = labels_of(one.run, {});
    one.cost = run_cost(one.run, one.boundaries(), rates);
    return one;
  };
  return found;
}

std::function<std::string()> distinct_names(std::size_t count,
                                            const std::function<NamedExport(std::size_t)>& named,
                                            bool is_by_time) {
  const auto hash = [is_by_time](const std::string& name, double end_unix_s) {
    return text_hash(is_by_time ? fmt::format("{}\n{}", end_unix_s, name) : name);
  };
  std::vector<std::uint64_t> short_names;
  for (std::size_t i = 0; i < count; ++i) {
    const NamedExport one = named(i);
    short_names.push_back(hash(printable(one.name, kLongestExportName), one.end_unix_s));
  }
  std::ranges::sort(short_names);
  return [named, hash, short_names = std::move(short_names), i = std::size_t{0},
          used = std::unordered_set<std::uint64_t>(),
          last_numbers = std::map<std::string, std::size_t>()]() mutable {
    const NamedExport one = named(i++);
    std::string name = printable(one.name, kLongestExportName);
    const auto [first, last] =
        std::equal_range(short_names.begin(), short_names.end(), hash(name, one.end_unix_s));
    if (last - first > 1) name = printable(one.path, kLongestExportName);
    const std::string wanted = name;
    while (!used.insert(hash(name, one.end_unix_s)).second) {
      name = fmt::format("{} #{}", wanted, ++last_numbers.try_emplace(wanted, 1).first->second);
    }
    return name;
  };
}

std::string short_export_name(const std::string& path) {
  std::string stem = plain_stem(path);
  for (const std::string_view begin : {"agg_", "power_validation_"}) {
    if (stem.starts_with(begin) && stem.size() > begin.size()) return stem.substr(begin.size());
  }
  return stem;
}

std::string_view basis_name(Basis basis) {
  return basis == Basis::measured ? "measured" : "modelled";
}

std::vector<BoundaryPower> boundary_ladder(const PublishedRun& run,
                                           const BoundaryFactors& factors) {
  if (run.state != PowerState::valid) return {};
  const std::string at = measured_boundary(*run.scope);
  std::vector<BoundaryPower> rungs = {rung(run, at, Basis::measured, 1)};
  double factor = 1;
  const auto climb = [&](const char* boundary, const std::optional<double>& by) {
    if (!by) return;
    factor *= *by;
    rungs.push_back(rung(run, boundary, Basis::modelled, factor));
  };
  const bool is_node = at == "node" || at == "wall";
  if (!is_node) climb("node", factors.node);
  climb("rack", factors.rack);
  climb("facility", factors.pue);
  return rungs;
}

}  // namespace aggregate_power
