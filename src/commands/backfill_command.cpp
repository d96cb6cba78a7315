// aggregate-power backfill: the energy of many finished runs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/system/interruption.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/wrap.h"
#include "commands/backfill_parts.h"
#include "commands/commands.h"
#include "commands/options/command.h"
#include "commands/options/options.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/measure/extras.h"
#include "store/backfill/backfill.h"
#include "verify/run/run.h"

namespace aggregate_power {
namespace {

int print_undone(const std::vector<UndoneRun>& runs, bool dry_run) {
  std::size_t lost_records = 0;
  for (const UndoneRun& run : runs) {
    if (run.lost_record) ++lost_records;
    for (const std::string& change : run.changes) print_result(one_line(change) + "\n");
  }
  print_result(
      outcome_table(runs.size(), dry_run, outcome_rows(runs, kUndoOutcomes, undo_outcome_name)));
  std::ignore = std::fflush(stdout);  // the counts come before what is said about them
  if (lost_records > 0) {
    print_note(fmt::format(
        "warning: {} of them had an earlier audit record, which the pass replaced and which is lost",
        lost_records));
  }
  bool is_complete = true;
  for (const UndoneRun& run : runs) {
    if (run.why.empty()) continue;
    is_complete = false;
    print_message(one_line(
        fmt::format("{}: {}: {}", run.aggregate, undo_outcome_name(run.outcome), run.why)));
  }
  return is_complete ? 0 : 1;
}

void add_undo_option(Options& options, std::string& report) {
  options
      .value(
          "--undo", "REPORT", into_path(report),
          "Take back what the pass with this --report wrote, where nothing changed it since; takes --dry-run, --lock-timeout, --follow-links, --artifacts and --no-sandbox")
      .check(not_empty());
}

// Throws Error for an option that has no effect beside it.
void settle_undo(const Options& options) {
  if (!options.is_given("--undo")) return;
  const std::set<std::string> useful = {"--undo",         "--dry-run",   "--lock-timeout",
                                        "--follow-links", "--artifacts", "--quiet",
                                        "--no-sandbox"};
  for (const Option& option : options.all()) {
    const std::string& name = option.is_positional() ? option.name : option.long_name();
    if (option.given.empty() || useful.contains(name)) continue;
    throw Error(fmt::format(
        "backfill: {} has no effect beside --undo: what is undone is in the report", name));
  }
}

// Returns the exit status. Throws Error.
int undo_by_report(const std::string& report, const StoreAccess& access, bool dry_run) {
  try {
    return print_undone(undo_backfill(report, access, dry_run), dry_run);
  } catch (const FileError& error) {
    const std::string hint = missing_file_hint(report);
    throw Error(hint.empty() ? error.what() : hint);
  }
}

inline constexpr std::array kStopSignals = {SIGINT, SIGTERM};

// From then on, the first of these signals sets the flag of base/interruption.h, and the next one
// ends the process as usual. It stays so when this object is gone: a signal in the process's last
// moment does not make finished work look killed. A signal that was ignored stays ignored, as in a
// shell's background jobs. While this object lives, a closed pipe does not end the process either,
// until let_pipes_end() or after such a signal: Ctrl-C also ends the program that reads our lines.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // To be called when no work is left that a closed pipe could break off.
  void let_pipes_end();

 private:
  struct sigaction pipe_before_ {};
};

// Calls only what a signal handler may call.
void on_stop_signal(int signal) {
  interrupt(signal);
  for (const int each : kStopSignals) std::ignore = ::signal(each, SIG_DFL);
}

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    std::ignore = ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    std::ignore = ::sigaction(signal, &action, nullptr);
  }
  action = {};
  action.sa_handler = SIG_IGN;
  std::ignore = ::sigaction(SIGPIPE, &action, &pipe_before_);
}

void StopSignals::let_pipes_end() {
  if (interrupting_signal() != 0) return;
  std::ignore = ::sigaction(SIGPIPE, &pipe_before_, nullptr);
}

StopSignals::~StopSignals() { let_pipes_end(); }

Check shard_check() {
  return [](const std::string& text) {
    try {
      std::ignore = shard_of(text, ::getenv);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
}

Check gpu_count_check() {
  return expecting("auto or a whole number above 0", [](const std::string& text) {
    return text == "auto" || python_int(text).value_or(0) > 0;
  });
}

std::vector<std::string> outcome_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kOutcomes; ++i) names.emplace_back(outcome_name(static_cast<Outcome>(i)));
  return names;
}

// Parses words separated by commas. Returns nullopt if one is not an outcome.
std::optional<std::set<Outcome>> parse_outcomes(const std::string& text) {
  const std::vector<std::string> names = outcome_names();
  std::set<Outcome> outcomes;
  for (const std::string_view word : separated(text, ',')) {
    const auto name = std::ranges::find(names, word);
    if (name == names.end()) return std::nullopt;
    outcomes.insert(static_cast<Outcome>(name - names.begin()));
  }
  return outcomes;
}

Check outcomes_check() {
  return expecting(
      fmt::format("one or more of {}, separated by commas", fmt::join(outcome_names(), ", ")),
      [](const std::string& text) { return parse_outcomes(text).has_value(); });
}

// The folders that were made for --output, because a sandbox is made of what is there. Those in
// which nothing was written are removed again.
class NewFolders {
 public:
  NewFolders() = default;
  ~NewFolders() {
    for (const std::string& folder : made_) std::ignore = ::rmdir(folder.c_str());
  }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  // Another process that writes there, too, is confined to the same folder: then it stays.
  void make(const std::filesystem::path& folder, bool is_shared) {
    std::error_code ignored;
    std::filesystem::path at = folder;
    while (!is_shared && !at.empty() && !std::filesystem::exists(at, ignored)) {
      made_.push_back(at.string());
      at = at.parent_path();
    }
    std::filesystem::create_directories(folder, ignored);
  }
  // The nearest folder around them that was there; empty: none was made.
  std::string around() const {
    if (made_.empty()) return {};
    const std::string above = std::filesystem::path(made_.back()).parent_path().string();
    return above.empty() ? "." : above;
  }

 private:
  std::vector<std::string> made_;  // the innermost first
};

// The report is appended to where it is, so nothing around it is written.
void add_report(const std::string& path, Reach& reach) {
  try {
    ::close(opened_for_writing(path, O_WRONLY | O_APPEND));
    reach.writes.push_back(path);
  } catch (const FileError&) {  // said when it is opened to write
  }
}

// What is changed besides the files that options name.
void add_backfill_reach(const BackfillRequest& request, bool is_undo, NewFolders& made,
                        Reach& reach) {
  const RecomputeOptions& how = request.recompute;
  reach.everywhere = how.access.follow_links;
  if (is_undo) reach.reads.emplace_back(".");
  if (!request.report.empty()) add_report(request.report, reach);
  if (how.dry_run || reach.everywhere) return;
  if (!how.output.empty()) {
    made.make(how.output, request.shards > 1);
    if (!made.around().empty()) reach.removes.push_back(made.around());
    return;
  }
  std::vector<std::string> changed = request.stores;
  if (is_undo) changed.emplace_back(".");
  if (!how.access.artifacts.empty()) changed.push_back(how.access.artifacts);
  std::ranges::copy_if(changed, std::back_inserter(reach.writes),
                       [](const std::string& path) { return disk_tree()->has_folder(path); });
}

void settle_backfill(BackfillRequest& request, const Options& options) {
  if (!options.is_given("--jobs")) request.jobs = usable_processors();
  if (request.recompute.uncertainty.is_wanted && request.recompute.schema_version != 2) {
    throw Error("--uncertainty: expected schema 2; leave --schema-version out");
  }
  if (!request.recompute.idle.empty() && request.recompute.schema_version != 2) {
    throw Error("--idle: expected schema 2; leave --schema-version out");
  }
  refuse_idle_stretch(request.recompute.idle, "is of one recording, and a store has many");
  request.recompute.stores = request.stores;
}

// The exit status that a shell reports for a command that a signal ended.
int status_of(int signal) { return 128 + signal; }

// Prints lines about a running backfill, from all of its threads.
class Reporter {
 public:
  void report_trouble(const std::string& trouble) {
    constexpr int kMost = 20;
    const std::lock_guard guard(mutex_);
    if (++troubles_ <= kMost) line_.print(one_line(trouble));
    if (troubles_ == kMost + 1)
      line_.print("further messages are left out; --list failed,ambiguous prints all such runs");
  }
  void show(const BackfillProgress& progress) {
    if (is_quiet()) return;
    const std::lock_guard guard(mutex_);
    line_.show(progress);
  }
  void print(const std::string& text) {
    const std::lock_guard guard(mutex_);
    line_.print(text);
  }
  void note(const std::string& text) {
    if (!is_quiet()) print(text);
  }
  void clear() { line_.clear(); }

 private:
  std::mutex mutex_;
  ProgressLine line_;
  int troubles_ = 0;
};

// The list that was asked for, or what a dry run would change; then the summary. stdout has what
// was asked for: the JSON object, or the list, or else what is meant for people.
void print_result_of(BackfillResult& result, const BackfillRequest& request, bool json) {
  const bool is_list = !request.list.empty();
  std::FILE* const lines_to = json ? stderr : stdout;
  if (is_list || !is_quiet()) {
    result.lines.for_each_key([&](const std::string&, const std::vector<std::string>& texts) {
      for (const std::string& text : texts) print_lines(lines_to, text);
    });
  }
  const bool dry_run = request.recompute.dry_run;
  if (json) {
    print(stdout, summary_json(result.counts, dry_run));
  } else if (!is_quiet()) {
    print_lines(is_list ? stderr : stdout, summary_text(result.counts, dry_run));
  }
}

int run_backfill(const BackfillRequest& request, bool json) {
  Reporter reporter;
  BackfillWatcher watcher;
  watcher.trouble = [&](const std::string& trouble) { reporter.report_trouble(trouble); };
  watcher.progress = [&](const BackfillProgress& progress) { reporter.show(progress); };
  BackfillResult result;
  std::optional<StopSignals> stop_signals;  // until the summary has been printed
  try {
    Backfill work(request, watcher);
    stop_signals.emplace();
    const WatchLocks watch([&](const std::string& path, std::optional<pid_t> holder) {
      reporter.note(one_line(lock_wait_text(path, holder)));
    });
    result = work.run();
    stop_signals->let_pipes_end();
  } catch (const FileError& error) {  // does not catch wrong use
    reporter.print(fmt::format("error: {}", error.what()));
    return interrupting_signal() != 0 ? status_of(interrupting_signal()) : 1;
  }
  reporter.clear();
  const BackfillCounts& counts = result.counts;
  print_result_of(result, request, json);
  if (interrupting_signal() != 0) {
    reporter.print("interrupted; run the same command again to continue");
    return status_of(interrupting_signal());
  }
  if (counts.done() == 0) {
    reporter.note(request.only.empty() ? "no run was found"
                                       : "no run was found that matches --only");
  }
  const bool is_unsound = counts.of(Outcome::failed) > 0 ||
                          (request.recompute.require_power && counts.valid < counts.done());
  return is_unsound ? 1 : 0;
}

// Which runs to work on, how, and what to print.
void add_work_options(Options& options, BackfillRequest& request) {
  options
      .positionals(
          "STORE", into_paths(request.stores),
          "Folder or archive (.zip, .tar, .tar.gz, .tar.zst) that contains runs, at any depth")
      .check(not_empty());
  add_dry_run(options, request.recompute);
  options
      .value(
          "--output", "FOLDER", into_path(request.recompute.output),
          "Write all results to FOLDER, laid out like the store, which is then only read; needed for aggregates in archives")
      .check(not_empty())
      .writes();
  options
      .value("--jobs", "N", into(request.jobs),
             "Runs to process at the same time (default: one per processor)")
      .check(whole_number_between(1, 1024));
  const auto take_shard = [&request](const std::string& text) {
    const Shard shard = shard_of(text, ::getenv);
    request.shard = shard.index;
    request.shards = shard.count;
    return true;
  };
  options
      .value(
          "--shard", "I/N|auto", take_shard,
          "Only part I of N, counted from 0, split the same way on every machine; auto: from the variables of Slurm arrays, Kubernetes, AWS Batch, Google Batch, Cloud Run or Open MPI")
      .check(shard_check())
      .offer({"auto"});
  options
      .value("--report", "FILE.jsonl", into(request.report), "Append one line of JSON for each run")
      .check(not_empty())
      .writes();
  const auto take_list = [&request](const std::string& text) {
    request.list = parse_outcomes(text).value();
    return true;
  };
  options
      .value(
          "--list", "OUTCOME[,...]", take_list,
          "Print the runs with these outcomes, sorted by path: the aggregate's path, a tab, the reason codes; the summary then goes to standard error")
      .check(outcomes_check())
      .offer(outcome_names());
}

void add_zone_option(Options& options, RecomputeOptions& recompute) {
  Option& timezone = accept_evidence(add_timezone(options, recompute), recompute);
  timezone.help =
      "Time zone of timestamps without an offset: auto, evidence, local, UTC, +HH:MM, -HH:MM or Area/City; auto: the one in a zone file beside the recording, else the one on which two of the load's edges, the recorder's other runs and the file's time agree; evidence: one of these three is enough (default: auto)";
}

// Options that other commands have too, here for all runs in a store.
void add_run_options(Options& options, RecomputeOptions& recompute) {
  add_zone_option(options, recompute);
  Option& gpus = add_expected_num_gpus(
      options, recompute, "GPUs that each run used; auto: as its aggregate says (default: auto)");
  accept_auto_count(gpus, recompute).checks = {gpu_count_check()};
  add_schema_version(options, recompute, "2");
}

void add_rarer_run_options(Options& options, RecomputeOptions& recompute) {
  Option& max_sample_gap = add_max_sample_gap(options, recompute);
  max_sample_gap.help = "Longest allowed gap between two samples of a GPU (default: 3)";
  max_sample_gap.checks = {number_between(0.001, 1e9)};
  add_columns(options, recompute);
  add_load_choice(options, recompute);
  add_power_unit(options, recompute);
  add_expected_producer_sha(options, recompute).help =
      "Commit of the recorder to trust in packages of several nodes (default: the one in each package's power-producer-sha.txt)";
  add_salvage(options, recompute).help =
      "Bound the energy of runs that are not valid for gaps or single cells without a reading alone; in packages, faults in other windows do not invalidate a run's own window";
  add_clock_offset(options, recompute).help =
      "Seconds to add to the timestamps of all recordings if the recorder's clock is known to be wrong (default: 0)";
  add_compat(options, recompute);
  add_idle_of_many(options, recompute);
  add_uncertainty_options(options, recompute);
  add_calibration(options, recompute);
  tie_gpu_to_uncertainty(options);
  add_accept(options, recompute);
  add_lock_timeout(options);
  add_require_power(options, recompute).help =
      "End with status 1 if a run ends without valid power (also: REQUIRE_POWER=1, true or yes)";
}

}  // namespace

Command backfill_command() {
  const auto request = std::make_shared<BackfillRequest>();
  const auto json = std::make_shared<bool>(false);
  const auto manifest = std::make_shared<SweepManifestRequest>();
  const auto undo = std::make_shared<std::string>();
  Command command;
  Options& options = command.options;
  add_work_options(options, *request);
  add_run_options(options, request->recompute);
  options
      .value("--only", "GLOB", into(request->only),
             "Only runs whose name matches, such as '*_b200_*'")
      .check(not_empty());
  options
      .value(
          "--runs", "FILE|-", into(request->runs),
          "Only the runs listed in FILE, or on standard input for -, one per line: the path of an aggregate or the name of a run; if all are paths, the store is not searched")
      .check(not_empty());
  add_rarer_run_options(options, request->recompute);
  options.flag("--json", *json, "Print the summary as one JSON object").excludes("--list");
  options.flag("--force", request->recompute.force, "Also recompute what is up to date");
  options.flag("--republish", request->recompute.republish,
               "Also recompute runs that 'retract' withdrew; even --force leaves them alone");
  add_undo_option(options, *undo);
  options.flag("--verify", request->recompute.verify,
               "Decide by the hashes of all inputs, not by size and time, what is up to date");
  add_sweep_manifest_options(options, *manifest);
  add_access_options(options, request->recompute.access);
  add_no_sandbox(options);
  command.examples =
      "aggregate-power backfill artifacts --dry-run\n"
      "aggregate-power backfill artifacts --report report.jsonl\n"
      "aggregate-power backfill artifacts.zip --output patched\n"
      "aggregate-power backfill artifacts --shard 0/4 --report report.0.jsonl\n"
      "aggregate-power backfill artifacts --sweep-manifest sweep_manifest.json --sweep sweep.json\n"
      "aggregate-power backfill --undo report.jsonl";
  command.exit_statuses =
      "0 everything that could be done was done; 1 a run failed, or has no valid power although power is required, or could not be undone; 2 wrong options; 130 Ctrl-C, 143 SIGTERM";
  command.notes =
      "A run is an aggregate agg_NAME.json with the benchmark result NAME.json and the telemetry gpu_metrics.csv; see 'aggregate-power help stores' for where they are looked for.";
  command.forms = {"STORE... [OPTIONS]", "--undo REPORT [--dry-run] [--lock-timeout SECONDS]"};
  command.settle = [request, manifest](const Options& parsed) {
    settle_undo(parsed);
    if (parsed.is_given("--undo")) return;
    if (request->stores.empty()) {
      throw Error("STORE is required; see 'aggregate-power backfill --help'");
    }
    settle_backfill(*request, parsed);
    settle_sweep_manifest(parsed, *manifest, request->stores);
  };
  const auto made = std::make_shared<NewFolders>();
  command.reach = [request, manifest, undo, made](Reach& reach) {
    if (manifest->out.empty()) add_backfill_reach(*request, !undo->empty(), *made, reach);
  };
  command.run = [request, json, manifest, undo] {
    if (!undo->empty()) {
      return undo_by_report(*undo, request->recompute.access, request->recompute.dry_run);
    }
    return manifest->out.empty()
               ? run_backfill(*request, *json)
               : write_sweep_manifest(*manifest, request->stores[0], request->jobs);
  };
  return command;
}

// ---- Formats the summary of a backfill.

namespace {

constexpr std::size_t kTableWidth = 80;

using ReasonRow = std::pair<std::pair<Reason, Obstacle>, RunsOfReason>;

// Sorted by the number of runs that have them.
std::vector<ReasonRow> reason_rows(const BackfillCounts& counts) {
  std::vector<ReasonRow> rows(counts.reasons.begin(), counts.reasons.end());
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const ReasonRow& row) { return row.second.runs; });
  return rows;
}

std::string zones_text(const BackfillCounts& counts) {
  std::string text;
  for (const auto& [timezone, levels] : counts.zones) {
    std::uint64_t runs = 0;
    std::vector<std::string> parts;
    for (const auto& [level, count] : levels) {
      runs += count;
      parts.push_back(fmt::format("{} {}", count, level));
    }
    text += count_line("timezone " + timezone, runs, joined_text(parts, ", "));
  }
  return text;
}

// Whether a text names an option that the command lacks, outside of quoted commands.
bool names_other_option(std::string_view text, const Command& command) {
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_quote = !is_quoted && (at == 0 || text[at - 1] == ' ');  // not of "GPU's"
    if (text[at] == '\'') is_quoted = begins_quote;
    if (is_quoted || !text.substr(at).starts_with("--")) continue;
    const std::size_t end = text.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", at);
    const std::string_view option = text.substr(at, end - at);
    const auto& own = command.options.all();
    if (std::ranges::find(own, option, &Option::long_name) == own.end()) return true;
    at += option.size() - 1;
  }
  return false;
}

std::string command_of_one_run(ReasonGroup group) {
  using enum ReasonGroup;
  if (group == nodes || group == cpu) return "multinode";
  return group == agents || group == agent_nodes ? "agentic" : "patch";
}

// What helps all runs of a store, and which command has what helps only one.
std::string remedy_in_store(Reason reason, Obstacle obstacle) {
  if (reason == Reason::window_not_exact) {
    return "give --window estimated or wrapped, or --result-timezone, as the details in --report say of each run; --start and --end are options of 'aggregate-power patch', for one run";
  }
  if (reason == Reason::telemetry_file_missing && obstacle == Obstacle::none) {
    return "name the recording gpu_metrics.csv, or gpu_metrics_NAME.csv, and keep it beside the run's other files: 'help stores' has all places";
  }
  std::string text(remedy(reason, obstacle));
  const std::string one = command_of_one_run(group(reason));
  const bool is_said = text.find(one + ' ') != text.npos;
  if (is_said || !names_other_option(text, make_command(*find_command("backfill")))) return text;
  return fmt::format("{} (by 'aggregate-power {}', for one run)", text, one);
}

std::string reasons_text(const BackfillCounts& counts) {
  const std::vector<ReasonRow> reasons = reason_rows(counts);
  if (reasons.empty()) return {};
  constexpr std::size_t kIndent = 40;
  const TextTable table("[reason <32][runs >6]  [what to do <]");
  std::string text = table.head();
  for (const auto& [why, of] : reasons) {
    const auto& [reason, obstacle] = why;
    std::string row;
    table.add({fmt::format("  {}", code(reason)), of.runs}, row);
    row.back() = ' ';
    text += wrapped(remedy_in_store(reason, obstacle), row + ' ', kIndent, kTableWidth);
    const std::vector<std::string> names = of.first_names();
    text += wrapped(one_line(fmt::format("{}{}", fmt::join(names, ", "),
                                         of.runs > names.size() ? ", ..." : "")),
                    "    ", 4, kTableWidth);
  }
  return text;
}

std::vector<OutcomeRow> outcomes_of(const BackfillCounts& counts) {
  std::vector<OutcomeRow> rows;
  for (int i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    rows.push_back({outcome_name(outcome), counts.of(outcome)});
    if (outcome == Outcome::unchanged && counts.unchanged_not_valid > 0) {
      rows.back().note = fmt::format("{} of them not valid", counts.unchanged_not_valid);
    }
  }
  return rows;
}

}  // namespace

std::string summary_text(const BackfillCounts& counts, bool dry_run) {
  std::string text = outcome_table(counts.done(), dry_run, outcomes_of(counts));
  if (counts.doubtful > 0) {
    text += count_line("doubtful", counts.doubtful,
                       "valid, with warnings: the details in --report have them");
  }
  if (counts.folder_links > 0) {
    text += count_line("links to folders", counts.folder_links,
                       "not followed; name their targets as stores");
  }
  if (counts.links_out > 0) {
    text += count_line("links out of the store", counts.links_out,
                       fmt::format("not read{}", kToFollow));
  }
  return text + zones_text(counts) + reasons_text(counts);
}

std::string summary_json(const BackfillCounts& counts, bool dry_run) {
  Json zones = Json::object();
  for (const auto& [timezone, levels] : counts.zones) zones[timezone] = levels;
  const Json summary = {{"schema", "aggregate-power/backfill-1"},
                        {"dry_run", dry_run},
                        {"runs", counts.done()},
                        {"valid", counts.valid},
                        {"outcomes", outcomes_json(outcomes_of(counts))},
                        {"unchanged_not_valid", counts.unchanged_not_valid},
                        {"doubtful", counts.doubtful},
                        {"links_to_folders", counts.folder_links},
                        {"links_out_of_the_store", counts.links_out},
                        {"timezones", std::move(zones)},
                        {"reasons", list_of(reason_rows(counts), [](const ReasonRow& row) -> Json {
                           const auto& [why, of] = row;
                           return {{"code", code(why.first)},
                                   {"runs", of.runs},
                                   {"first_runs", of.first_names()},
                                   {"remedy", remedy_in_store(why.first, why.second)}};
                         })}};
  return indented_lines(summary);
}

}  // namespace aggregate_power
