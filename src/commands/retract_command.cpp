// aggregate-power retract: withdraw published numbers by what their audit records prove.
#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/suggest.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "decide/retract/retract.h"

namespace aggregate_power {
namespace {

struct RetractOptions {
  RetractRequest request;
  bool json = false;
};

int print_retracted(const RetractResult& result, const RetractOptions& options) {
  const bool dry_run = options.request.dry_run;
  const std::vector<OutcomeRow> rows =
      outcome_rows(result.runs, kRetractOutcomes, retract_outcome_name);
  if (options.json) {
    const Json all = {{"schema", "aggregate-power/retract-1"},
                      {"dry_run", dry_run},
                      {"outcomes", outcomes_json(rows)},
                      {"runs", list_of(result.runs, [](const RetractedRun& run) -> Json {
                         return {{"run", printable_path(run.name)},
                                 {"outcome", retract_outcome_name(run.outcome)},
                                 {"why", text_or_null(run.why)}};
                       })}};
    print(stdout, indented_lines(all));
  } else {
    for (const RetractedRun& run : result.runs) {
      for (const std::string& change : run.changes) print_result(one_line(change) + "\n");
    }
    print_result(outcome_table(result.runs.size(), dry_run, rows));
  }
  for (const std::string& warning : result.warnings) print_note("warning: " + warning);
  bool is_complete = true;
  for (const RetractedRun& run : result.runs) {
    if (run.outcome != RetractOutcome::left_alone) continue;
    is_complete = false;
    print_message(one_line(fmt::format("{}: not retracted: {}", run.name, run.why)));
  }
  if (result.runs.empty()) print_note("no run with an audit record was found");
  if (!result.why_none.empty()) print_note("nothing was retracted: " + result.why_none);
  return is_complete ? 0 : 1;
}

int run_retract(const RetractOptions& options) {
  try {
    return print_retracted(retract_runs(options.request), options);
  } catch (const FileError& error) {
    refuse_missing({options.request.stores}, error);
  }
}

RetractCondition condition_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return {text, ""};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Check condition_check() {
  return [](const std::string& text) -> std::string {
    const RetractCondition condition = condition_of(text);
    const std::vector<std::string> keys = retract_keys();
    if (std::ranges::find(keys, condition.key) == keys.end()) {
      return fmt::format("unknown key '{}'{}; known: {}", printable(condition.key),
                         did_you_mean(condition.key, keys), fmt::join(keys, ", "));
    }
    if (!condition.value.empty()) return {};
    return fmt::format("expected KEY=VALUE, got '{}'", printable(text));
  };
}

}  // namespace

Command retract_command() {
  const auto all = std::make_shared<RetractOptions>();
  RetractRequest& request = all->request;
  request.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positionals("STORE", into_paths(request.stores),
                   "Folders that contain runs at any depth, aggregates, or audit records")
      .required()
      .check(not_empty());
  const auto take_condition = [&request](const std::string& text) {
    request.conditions.push_back(condition_of(text));
    return true;
  };
  std::vector<std::string> offered;
  for (const std::string& key : retract_keys()) offered.push_back(key + "=");
  options
      .list(
          "--where", "KEY=VALUE", take_condition,
          fmt::format(
              "What the audit record of a run must state; VALUE may be a pattern such as 'rocm*'; of several all must hold; keys: {}",
              fmt::join(retract_keys(), ", ")))
      .required()
      .check(condition_check())
      .offer(offered);
  options.flag("--dry-run", request.dry_run, "Print what would change; write nothing");
  add_lock_timeout(options);
  options.flag("--json", all->json, "Print one JSON object");
  add_access_options(options, request.access);
  command.examples =
      "aggregate-power retract artifacts --where collector=rocm-smi --dry-run\n"
      "aggregate-power retract artifacts --where schema=amd-smi --where version=0.1.0\n"
      "aggregate-power retract agg_run.json --where sensor=power.draw.instant";
  command.exit_statuses =
      "0 all runs that match were retracted; 1 some could not be, one line for each; 2 a store cannot be opened, or wrong options";
  command.run = [all] { return run_retract(*all); };
  return command;
}

}  // namespace aggregate_power
