// Recognizes each input, and gathers the scenarios of all.
#include "decide/recommend/recommend.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/csv.h"
#include "base/text/encoding.h"
#include "decide/compare/compare.h"
#include "decide/recommend/sweep.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/unmeasured_runs.h"

namespace aggregate_power {
namespace {

// Columns that follow those of the rows: the power of the row over its rate; of all rows at its
// limit the mean of that, and the energy over the tokens.
inline constexpr std::string_view kRatioColumns[] = {"energy_per_token", "mean_energy_per_token",
                                                     "total_energy_per_token"};

bool is_ratio_column(std::string_view name) {
  return std::ranges::find(kRatioColumns, name) != std::end(kRatioColumns);
}

// The sweep tool's columns, of the last two those that some row has; then all others, by name.
std::vector<std::string> stats_columns(const SweepRows& rows) {
  std::set<std::string> others;
  for (const SweepRow& row : rows.rows) others.insert(row.columns->begin(), row.columns->end());
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < std::size(kSweepColumns); ++i) {
    const std::string name(kSweepColumns[i]);
    const bool is_there = others.erase(name) > 0;
    if (is_there || i < kLeastSweepColumns) columns.push_back(name);
  }
  for (const std::string& name : others) {
    if (!name.empty() && !is_ratio_column(name)) columns.push_back(name);
  }
  return columns;
}

std::string ratio_text(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
}

std::string cell_of(const SweepRow& row, const std::string& column) {
  const auto found = std::ranges::find(*row.columns, column);
  if (found == row.columns->end()) return {};
  return row.cells[static_cast<std::size_t>(found - row.columns->begin())];
}

const JudgedLimit* judged_limit(const LimitChoice& choice, double limit_w) {
  const JudgedLimit* at = nullptr;
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.group.limit_w <= limit_w) at = &limit;
  }
  return at;
}

// The rows in time order, with the sweep tool's columns first, then others that they have. Cells
// stay as they were. `choice` is that of these rows.
std::string stats_csv(const SweepRows& rows, const LimitChoice& choice) {
  const std::vector<std::string> columns = stats_columns(rows);
  const bool has_total = have_total_power(rows);
  std::string text;
  for (const std::string& column : columns) text += spreadsheet_cell(column) + ",";
  text += fmt::format("{}\n", fmt::join(kRatioColumns, ","));
  for (const SweepRow& row : rows.rows) {
    for (const std::string& column : columns) text += spreadsheet_cell(cell_of(row, column)) + ",";
    const double power_w = has_total ? row.total_power_w : row.gpu_power_w;
    const JudgedLimit* const limit = judged_limit(choice, row.limit_w);
    const auto ratio =
        row.tokens_per_s > 0 ? std::optional(power_w / row.tokens_per_s) : std::nullopt;
    text += fmt::format(
        "{},{},{}\n", ratio_text(ratio),
        ratio_text(limit == nullptr ? std::nullopt : limit->group.mean_joules_per_token),
        ratio_text(limit == nullptr ? std::nullopt : limit->joules_per_token));
  }
  return text;
}

// Writes FOLDER/training_stats.csv and FOLDER/inference_stats.csv, as far as there are such rows,
// each in one step. The folder is made if need be. Returns the paths. Throws Error before anything
// is written if one of them is among `inputs`, and FileError.
std::vector<std::string> write_stats(const std::string& folder,
                                     const std::vector<SweepRows>& scenarios,
                                     const std::vector<LimitChoice>& choices,
                                     const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<PendingFile>> files;
  for (const SweepRows& rows : scenarios) {
    const std::string path = join_path(folder, rows.scenario + "_stats.csv");
    for (const std::string& input : inputs) {
      if (!is_same_file(path, input)) continue;
      throw Error(fmt::format("{}: is an input: name another folder with --stats-out",
                              printable_path(path)));
    }
    paths.push_back(path);
  }
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto choice = std::ranges::find(choices, scenarios[i].scenario, &LimitChoice::scenario);
    files.push_back(
        std::make_unique<PendingFile>(paths[i], stats_csv(scenarios[i], *choice), true));
  }
  for (const auto& file : files) file->commit();
  return paths;
}

constexpr std::string_view kMeasured[] = {"power_limit", "time_per_epoch", "average_power"};

struct EpochRow {
  double limit_w = 0;
  double time_s = 0;
  double power_w = 0;
};

std::vector<std::string> scenario_columns(const SweepTable& table,
                                          const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (table.column(key)) continue;
    throw Error(
        fmt::format("{}: --group-by: there is no column '{}'", printable_path(table.path), key));
  }
  if (!keys.empty()) return keys;
  return items_where(*table.columns, [](const std::string& column) {
    return std::ranges::find(kMeasured, column) == std::end(kMeasured);
  });
}

std::string epoch_scenario_name(const SweepTable& table, std::size_t row,
                                const std::vector<std::string>& columns) {
  std::string name;
  for (const std::string& column : columns) {
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", column, table.cell(row, column));
  }
  return name.empty() ? "(all rows)" : name;
}

LimitScenario scenario_of_epochs(const std::string& name, const std::vector<EpochRow>& rows,
                                 std::size_t gpus) {
  LimitScenario scenario{.name = name, .gpus = static_cast<double>(gpus)};
  const std::vector<double> distinct = distinct_limits(mapped<double>(rows, &EpochRow::limit_w));
  for (const double limit_w : distinct) scenario.groups.push_back({.limit_w = limit_w});
  for (const EpochRow& row : rows) {
    LimitGroup& group = scenario.groups[limit_index(distinct, row.limit_w)];
    ++group.n;
    group.pieces.push_back({row.time_s * row.power_w, row.time_s, 1});
  }
  for (LimitGroup& group : scenario.groups) {
    std::ranges::sort(group.pieces, {}, &LimitPiece::energy_j);
    double energy_j = 0;
    double time_s = 0;
    for (const LimitPiece& piece : group.pieces) {
      energy_j += piece.energy_j;
      time_s += *piece.time_s;
    }
    group.gpu_power_w = energy_j / time_s / static_cast<double>(gpus);
    group.why = limit_fault(group.limit_w, std::nullopt, group.gpu_power_w);
    if (!group.why.empty()) group.state = LimitState::limit_not_in_force;
  }
  return scenario;
}

// Whether the table has power_limit, time_per_epoch and average_power.
bool is_epoch_sweep(const SweepTable& table) {
  return has_columns(table, {"power_limit", "time_per_epoch", "average_power"});
}

// A scenario for each combination of the other columns, or of those in `keys`, in the order of
// their names. Each row is an epoch's energy: its time times its power. `prefix` begins each name.
// `unusable`: counts rows without all three numbers.
std::vector<LimitScenario> scenarios_of_epochs(const SweepTable& table,
                                               const std::vector<std::string>& keys,
                                               const std::string& prefix, std::size_t& unusable) {
  const std::vector<std::string> columns = scenario_columns(table, keys);
  std::map<std::string, std::vector<EpochRow>> rows_of;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const EpochRow one{sweep_number(table.cell(row, "power_limit")),
                       sweep_number(table.cell(row, "time_per_epoch")),
                       sweep_number(table.cell(row, "average_power"))};
    if (one.limit_w > 0 && one.time_s > 0 && one.power_w > 0) {
      rows_of[epoch_scenario_name(table, row, columns)].push_back(one);
    } else {
      ++unusable;
    }
  }
  std::vector<LimitScenario> scenarios;
  for (const auto& [name, rows] : rows_of) {
    scenarios.push_back(scenario_of_epochs(prefix + name, rows, table.gpus));
  }
  return scenarios;
}

// A log of Zeus' windows: its GlobalPowerLimitOptimizer names each after a limit, and measures the
// same steps in each.
constexpr std::string_view kOptimizerWindow = "__GlobalPowerLimitOptimizer_";

bool is_optimizer_log(const SweepTable& table) {
  if (!has_columns(table, {"start_time", "window_name", "elapsed_time"})) return false;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.cell(row, "window_name").starts_with(kOptimizerWindow)) return true;
  }
  return false;
}

// Its windows as epochs. Others, and those without the energy of each GPU, have no power.
SweepTable epochs_of_optimizer(const SweepTable& log) {
  std::vector<std::string> energies;
  std::ranges::copy_if(*log.columns, std::back_inserter(energies), [](const std::string& column) {
    return column.starts_with("gpu") && column.ends_with("_energy");
  });
  SweepTable epochs{.path = log.path, .gpus = std::max<std::size_t>(1, energies.size())};
  epochs.columns =
      std::make_shared<const std::vector<std::string>>(std::begin(kMeasured), std::end(kMeasured));
  for (std::size_t row = 0; row < log.rows.size(); ++row) {
    std::string_view name = log.cell(row, "window_name");
    if (!name.starts_with(kOptimizerWindow)) name = kOptimizerWindow;
    name.remove_prefix(kOptimizerWindow.size());
    double energy_j = 0;
    for (const std::string& column : energies) energy_j += sweep_number(log.cell(row, column));
    const double time_s = sweep_number(log.cell(row, "elapsed_time"));
    epochs.rows.push_back(
        {std::string(name), fmt::format("{}", time_s), fmt::format("{}", energy_j / time_s)});
  }
  return epochs;
}

struct Inputs {
  std::vector<std::string> runs;
  std::vector<SweepTable> rows;
  std::vector<SweepTable> epochs;
};

void add_table_input(SweepTable table, Inputs& inputs) {
  if (is_epoch_sweep(table)) {
    inputs.epochs.push_back(std::move(table));
  } else if (is_optimizer_log(table)) {
    inputs.epochs.push_back(epochs_of_optimizer(table));
  } else if (has_columns(table, {"timestamp", "tokens_per_sec"})) {
    inputs.rows.push_back(std::move(table));
  } else {
    throw Error(fmt::format(
        "{}: expected JSON of runs, a CSV with timestamp, tokens_per_sec, power_draw and max_watt, one with power_limit, time_per_epoch and average_power, or a log of windows of Zeus' GlobalPowerLimitOptimizer",
        printable_path(table.path)));
  }
}

Inputs inputs_of(const RecommendRequest& request) {
  std::vector<std::string> paths = request.results;
  for (const auto& [scenario, path] : request.scenarios) {
    const auto& tokens = request.join.tokens;
    if (std::ranges::find(tokens, path) == tokens.end()) paths.push_back(path);
  }
  Inputs inputs;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    if (!seen.insert(file_identity(path)).second) continue;
    if (holds_runs(path)) {
      inputs.runs.push_back(path);
    } else {
      add_table_input(read_sweep_table(path), inputs);
    }
  }
  return inputs;
}

std::string given_scenario(const RecommendRequest& request, const std::string& path) {
  for (const auto& [scenario, file] : request.scenarios) {
    if (is_same_file(file, path)) return scenario;
  }
  return {};
}

void add_row_choices(const RecommendRequest& request, const std::vector<SweepTable>& tables,
                     Recommendation& recommendation) {
  const Zone zone = request.join.recording.zone.value_or(Zone::fixed(0));
  std::vector<SweepRows>& all = recommendation.rows;
  for (const SweepTable& table : tables) {
    if (!table.column("power_draw") && !table.column("total_power_draw")) {
      throw Error(fmt::format(
          "{}: has no column power_draw: join it with a recording, by --tokens and --samples",
          printable_path(table.path)));
    }
    add_sweep_rows(table, given_scenario(request, table.path), zone, all);
  }
  // Training, as the sweep tool runs it first.
  std::ranges::sort(all, std::ranges::greater(), &SweepRows::scenario);
  for (SweepRows& rows : all) {
    settle_rows(rows);
    recommendation.choices.push_back(
        choose_limit(scenario_of_rows(rows, request.rows), request.question));
    if (rows.unusable > 0) {
      recommendation.warnings.push_back(
          fmt::format("{}: {} rows without a time, a rate, a power or a limit were left out",
                      rows.scenario, rows.unusable));
    }
    if (rows.repeated > 0) {
      recommendation.warnings.push_back(
          fmt::format("{}: {} rows that are exactly like another one were left out", rows.scenario,
                      rows.repeated));
    }
    if (!have_total_power(rows)) {
      recommendation.notes.push_back(fmt::format(
          "{}: there is no total_power_draw: the energy is that of the GPU of power_draw alone",
          rows.scenario));
    }
  }
}

void add_epoch_choices(const RecommendRequest& request, const std::vector<SweepTable>& tables,
                       Recommendation& recommendation) {
  std::vector<LimitScenario> scenarios;
  for (const SweepTable& table : tables) {
    // The rows do not name the GPU, so two files are two scenarios.
    const std::string prefix =
        tables.size() > 1 ? fmt::format("{}: ", printable_path(table.path)) : std::string();
    std::size_t unusable = 0;
    for (LimitScenario& scenario : scenarios_of_epochs(table, request.keys, prefix, unusable)) {
      scenarios.push_back(std::move(scenario));
    }
    if (unusable == 0) continue;
    recommendation.warnings.push_back(
        fmt::format("{}: {} rows without a limit, a time and a power were left out",
                    printable_path(table.path), unusable));
  }
  std::ranges::stable_sort(scenarios, {}, &LimitScenario::name);
  for (LimitScenario& scenario : scenarios) {
    recommendation.choices.push_back(choose_limit(std::move(scenario), request.question));
  }
}

void note_quality_without_bounds(const std::string& key, Recommendation& recommendation) {
  if (key.empty()) return;
  for (const SloFront& front : recommendation.fronts) {
    for (const FrontPoint& point : front.points) {
      if (std::isfinite(point.numbers.back().low)) continue;
      recommendation.notes.push_back(fmt::format(
          "--quality-key {}: {} does not state how many questions were answered, so every difference counts: give --questions, or a member '{}_questions' of the aggregates",
          key, printable(point.name, 200), key));
      return;
    }
  }
}

void add_run_choices(const RecommendRequest& request, const std::vector<std::string>& places,
                     Recommendation& recommendation) {
  if (places.empty()) return;
  PublishedRuns found = read_published_runs(places, request.most_threads, request.access);
  RunSpec measuring = request.measuring;
  static_cast<RecordingOptions&>(measuring) = request.join.recording;
  add_unmeasured_runs(places, measuring, request.most_threads, found);
  append(recommendation.notes, std::move(found.notes));
  for (std::string& warning : found.warnings) {
    recommendation.warnings.push_back(std::move(warning));
  }
  std::vector<const PublishedRun*> all;
  const auto runs = std::make_shared<std::vector<PublishedRun>>(std::move(found.runs));
  for (const PublishedRun& run : *runs) all.push_back(&run);
  if (!all.empty()) {
    require_members("--group-by", all, request.keys);
    if (!request.limit_key.empty()) require_members("--limit-key", all, {request.limit_key});
  }
  RunSweep sweep = sweep_of_runs(*runs, {request.keys, request.limit_key, request.most_threads});
  for (std::string& warning : sweep.warnings) {
    recommendation.warnings.push_back(std::move(warning));
  }
  if (sweep.without_limit > 0) {
    recommendation.notes.push_back(fmt::format(
        "{} runs have no power limit: name the member of the aggregates that holds it with --limit-key, or record power.limit",
        sweep.without_limit));
  }
  for (LimitScenario& scenario : sweep.scenarios) {
    recommendation.choices.push_back(choose_limit(std::move(scenario), request.question));
  }
  recommendation.scalings = std::move(sweep.scalings);
  if (!request.slo.is_asked()) return;
  const auto changed = mapped<PublishedRun*>(*runs, [](PublishedRun& run) { return &run; });
  compare::add_good_numbers(request.slo, request.most_threads, changed, recommendation.warnings);
  if (!request.quality_key.empty()) require_members("--quality-key", all, {request.quality_key});
  recommendation.fronts = slo_fronts(
      all, {request.slo, request.keys, request.limit_key, request.quality_key, request.questions});
  note_quality_without_bounds(request.quality_key, recommendation);
  recommendation.runs = runs;
  recommendation.slo = request.slo;
}

void join_rows(const RecommendRequest& request, Inputs& inputs, Recommendation& recommendation) {
  if (request.join.tokens.empty()) return;
  recommendation.was_joined = true;
  recommendation.join = join_tokens(request.join);
  for (const SweepTable& table : recommendation.join.tables) inputs.rows.push_back(table);
}

void write_rows(const RecommendRequest& request, Recommendation& recommendation) {
  if (request.stats_out.empty()) return;
  if (recommendation.rows.empty()) {
    throw Error(
        "--stats-out: there are no rows to write: give a stats CSV, or --tokens and --samples");
  }
  std::vector<std::string> inputs = request.results;
  for (const auto& [scenario, path] : request.scenarios) inputs.push_back(path);
  append(inputs, request.join.tokens);
  append(inputs, request.join.samples);
  recommendation.written =
      write_stats(request.stats_out, recommendation.rows, recommendation.choices, inputs);
}

// A limit on the slowdown excludes nothing where times are not known.
void warn_of_unchecked_times(const LimitQuestion& question, Recommendation& recommendation) {
  if (!question.max_slowdown) return;
  for (const LimitChoice& choice : recommendation.choices) {
    const bool is_unchecked = std::ranges::any_of(choice.groups, [](const JudgedLimit& limit) {
      return limit.group.state == LimitState::ok && !limit.slowdown;
    });
    if (!is_unchecked) continue;
    recommendation.warnings.push_back(fmt::format(
        "{}: --max-slowdown was not checked where the time is not known: such results need a duration, or an audit record beside them",
        choice.scenario));
  }
}

}  // namespace

bool holds_runs(const std::string& path) {
  if (!is_regular_file(path) || is_archive_name(path) || path.ends_with(".jsonl")) return true;
  const auto source = as_utf8(decompressed(open_source(path), path));
  const std::string head = read_up_to(*source, 4096);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (head[first] == '{' || head[first] == '[');
}

bool Recommendation::is_complete() const {
  const bool all_have_one = std::ranges::all_of(
      choices, [](const LimitChoice& choice) { return choice.recommended_limit_w.has_value(); });
  if (slo.is_asked()) {
    return !fronts.empty() && std::ranges::all_of(fronts, [](const SloFront& front) {
      return front.cheapest_that_holds.has_value();
    });
  }
  return all_have_one && !(choices.empty() && scalings.empty());
}

Recommendation recommend(const RecommendRequest& request) {
  Recommendation recommendation{.row_rules = request.rows};
  Inputs inputs = inputs_of(request);
  join_rows(request, inputs, recommendation);
  add_row_choices(request, inputs.rows, recommendation);
  add_epoch_choices(request, inputs.epochs, recommendation);
  add_run_choices(request, inputs.runs, recommendation);
  warn_of_unchecked_times(request.question, recommendation);
  write_rows(request, recommendation);
  return recommendation;
}

}  // namespace aggregate_power
