// Recognizes each input, and gathers the scenarios of all.
#include "decisions/recommendation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/archive.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/encoding.h"
#include "decisions/epoch_sweep.h"
#include "decisions/run_sweep.h"
#include "decisions/sweep_stats.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/unmeasured_runs.h"

namespace aggregate_power {
namespace {

struct Inputs {
  std::vector<std::string> runs;
  std::vector<SweepTable> rows;
  std::vector<SweepTable> epochs;
};

void add_table_input(SweepTable table, Inputs& inputs) {
  if (is_epoch_sweep(table)) {
    inputs.epochs.push_back(std::move(table));
  } else if (has_columns(table, {"timestamp", "tokens_per_sec"})) {
    inputs.rows.push_back(std::move(table));
  } else {
    throw Error(fmt::format(
        "{}: expected JSON of runs, a CSV with timestamp, tokens_per_sec, power_draw and max_watt, or one with power_limit, time_per_epoch and average_power",
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

void add_run_choices(const RecommendRequest& request, const std::vector<std::string>& places,
                     Recommendation& recommendation) {
  if (places.empty()) return;
  PublishedRuns found = read_published_runs(places, request.most_threads, request.access);
  RunSpec measuring = request.measuring;
  static_cast<RecordingOptions&>(measuring) = request.join.recording;
  add_unmeasured_runs(places, measuring, request.most_threads, found);
  std::ranges::move(found.notes, std::back_inserter(recommendation.notes));
  for (std::string& warning : found.warnings) {
    recommendation.warnings.push_back(std::move(warning));
  }
  std::vector<const PublishedRun*> all;
  for (const PublishedRun& run : found.runs) all.push_back(&run);
  if (!all.empty()) {
    require_members("--group-by", all, request.keys);
    if (!request.limit_key.empty()) require_members("--limit-key", all, {request.limit_key});
  }
  RunSweep sweep =
      sweep_of_runs(found.runs, {request.keys, request.limit_key, request.most_threads});
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
  inputs.insert(inputs.end(), request.join.tokens.begin(), request.join.tokens.end());
  inputs.insert(inputs.end(), request.join.samples.begin(), request.join.samples.end());
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
