// aggregate-power backfill: the energy of many finished runs.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock_wait.h"
#include "base/files/path.h"
#include "base/interruption.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "commands/backfill_summary.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/progress.h"
#include "commands/shard.h"
#include "commands/shared_options.h"
#include "commands/stop_signals.h"
#include "energy/integrate.h"
#include "store/backfill.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::vector<std::string> stores;
  std::string output;
  std::string report;
  std::string shard = "0/1";
  std::string only;
  std::string runs;
  std::string list;
  std::string timezone = "auto";
  double max_sample_gap = kDefaultMaxSampleGapS;
  std::string expected_num_gpus = "auto";
  int schema_version = 2;
  unsigned jobs = 0;
  bool dry_run = false;
  bool require_power = false;
  bool force = false;
  bool verify = false;
  std::string expected_producer_sha;
  bool salvage = false;
  std::string power_unit;
};

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

// Processors that this process may use.
unsigned usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

std::vector<std::string> outcome_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kOutcomes; ++i) names.emplace_back(outcome_name(static_cast<Outcome>(i)));
  return names;
}

// Of words with commas in between; nothing when one is not an outcome.
std::optional<std::set<Outcome>> parse_outcomes(const std::string& text) {
  const std::vector<std::string> names = outcome_names();
  std::set<Outcome> outcomes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto name = std::ranges::find(names, text.substr(begin, end - begin));
    if (name == names.end()) return std::nullopt;
    outcomes.insert(static_cast<Outcome>(name - names.begin()));
    begin = end + 1;
  }
  return outcomes;
}

Check outcomes_check() {
  return expecting(
      fmt::format("one or more of {}, with commas in between", fmt::join(outcome_names(), ", ")),
      [](const std::string& text) { return parse_outcomes(text).has_value(); });
}

BackfillRequest request_of(const Texts& texts) {
  BackfillRequest request;
  for (const std::string& store : texts.stores) request.stores.push_back(normal_path(store));
  request.report = texts.report;
  request.only = texts.only;
  request.runs = texts.runs;
  const Shard shard = shard_of(texts.shard, ::getenv);
  request.shard = shard.index;
  request.shards = shard.count;
  request.jobs = texts.jobs > 0 ? texts.jobs : usable_processors();
  request.dry_run = texts.dry_run;
  if (!texts.list.empty()) request.list = parse_outcomes(texts.list).value();
  RecomputeOptions& recomputed = request.recompute;
  recomputed.schema_version = texts.schema_version;
  if (texts.expected_num_gpus != "auto") {
    recomputed.expected_num_gpus = python_int(texts.expected_num_gpus);
  }
  recomputed.one_witness = texts.timezone == "evidence";
  if (texts.timezone != "auto" && !recomputed.one_witness) {
    recomputed.zone = Zone::parse(texts.timezone);
  }
  if (!texts.output.empty()) recomputed.output = normal_path(texts.output);
  recomputed.stores = request.stores;
  recomputed.max_sample_gap_s = texts.max_sample_gap;
  recomputed.expected_producer_sha = texts.expected_producer_sha;
  recomputed.salvage = texts.salvage;
  recomputed.power_unit = power_unit(texts.power_unit);
  recomputed.force = texts.force;
  recomputed.verify = texts.verify;
  return request;
}

// As a shell says of a command that a signal ended.
int status_of(int signal) { return 128 + signal; }

int run(const Texts& texts) {
  const BackfillRequest request = request_of(texts);
  constexpr int kMostTroubles = 20;
  int troubles = 0;
  std::mutex mutex;
  ProgressLine line;
  BackfillWatcher watcher;
  watcher.trouble = [&](const std::string& trouble) {
    const std::lock_guard guard(mutex);
    if (++troubles <= kMostTroubles) line.print(one_line(trouble));
    if (troubles == kMostTroubles + 1)
      line.print("there is more; --list failed,ambiguous prints all");
  };
  watcher.progress = [&](const BackfillProgress& progress) {
    const std::lock_guard guard(mutex);
    line.show(progress);
  };
  BackfillResult result;
  std::optional<StopSignals> stop_signals;  // until the summary was printed
  try {
    Backfill work(request, watcher);
    stop_signals.emplace();
    const WatchLocks watch([&](const std::string& path, std::optional<pid_t> holder) {
      const std::lock_guard guard(mutex);
      line.print(one_line(lock_wait_text(path, holder)));
    });
    result = work.run();
    stop_signals->let_pipes_end();
  } catch (const FileError& error) {  // not for wrong use
    line.print(fmt::format("error: {}", error.what()));
    return interrupting_signal() != 0 ? status_of(interrupting_signal()) : 1;
  }
  line.clear();
  const BackfillCounts& counts = result.counts;
  result.lines.take_all([](std::string_view text) { print(stdout, std::string(text)); });
  print(request.list.empty() ? stdout : stderr, summary_text(counts, request.dry_run));
  if (interrupting_signal() != 0) {
    line.print("interrupted; run the same command again to go on");
    return status_of(interrupting_signal());
  }
  if (counts.done() == 0) {
    line.print(texts.only.empty() ? "no run was found" : "no run was found that fits --only");
  }
  const bool requires_power = texts.require_power || required_by_environment();
  const bool is_unsound =
      counts.of(Outcome::failed) > 0 || (requires_power && counts.valid < counts.done());
  return is_unsound ? 1 : 0;
}

}  // namespace

Command backfill_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  Options& options = command.options;
  options
      .positionals(
          "STORE", into(texts->stores),
          "Folder or archive (.zip, .tar, .tar.gz, .tar.zst) that holds runs, at any depth")
      .required()
      .check(not_empty());
  options.flag("--dry-run", texts->dry_run, "Print what would change; write nothing");
  options
      .value("--output", "FOLDER", into(texts->output),
             "Write all results there, in a mirror of the store, which is then only read; needed "
             "for aggregates in archives")
      .check(not_empty());
  options
      .value("--jobs", "N", into(texts->jobs), "Runs at a time (default: one for each processor)")
      .check(whole_number_between(1, 1024));
  options
      .value("--shard", "I/N|auto", into(texts->shard),
             "Only this part of N, from 0: the same runs on every machine; auto: as the "
             "variables of Slurm arrays, Kubernetes, AWS Batch, Google Batch, Cloud Run or Open "
             "MPI say")
      .check(shard_check())
      .offer({"auto"});
  options.value("--report", "FILE.jsonl", into(texts->report), "Append a line of JSON for each run")
      .check(not_empty());
  options
      .value("--list", "OUTCOME[,...]", into(texts->list),
             "Print the runs that end so, sorted by path: the aggregate's path, a tab, the reason "
             "codes; the summary then goes to standard error")
      .check(outcomes_check())
      .offer(outcome_names());
  options
      .value("--timezone", "ZONE", into(texts->timezone),
             "What stamps without an offset mean: auto, evidence, local, UTC, +HH:MM, -HH:MM or "
             "Area/City; auto: what a zone file beside the recording says, else what two of the "
             "load's edges, the recorder's other runs and the file's time agree on; evidence: one "
             "of them is enough (default: auto)")
      .offer({"auto", "evidence", "local", "UTC"});
  options
      .value("--expected-num-gpus", "auto|N", into(texts->expected_num_gpus),
             "GPUs that each run used; auto: as its aggregate says (default: auto)")
      .check(gpu_count_check())
      .offer({"auto"});
  options
      .value("--schema-version", "1|2", into(texts->schema_version),
             "1: three best-effort keys; 2: seven checked ones and a verdict (default: 2)")
      .one_of({"1", "2"});
  options
      .value("--only", "GLOB", into(texts->only), "Only runs whose name fits, such as '*_b200_*'")
      .check(not_empty());
  options
      .value("--runs", "FILE|-", into(texts->runs),
             "Only the runs that this file, or standard input for -, lists: a path of an aggregate "
             "or a name of a run a line; with paths alone the store is not searched")
      .check(not_empty());
  options
      .value("--max-sample-gap", "SECONDS", into(texts->max_sample_gap),
             "Longest silence between two samples of a GPU (default: 3)")
      .check(number_between(0.001, 1e9));
  add_power_unit(options, texts->power_unit);
  options.value(
      "--expected-producer-sha", "SHA", into(texts->expected_producer_sha),
      "Commit of the recorder that is trusted in packages of several nodes (default: what "
      "power-producer-sha.txt in each package says)");
  options.flag("--salvage", texts->salvage,
               "What is wrong with other windows of a package does not void a run's own");
  options.flag("--require-power", texts->require_power,
               "End with status 1 when a run has no valid power in the end (also: REQUIRE_POWER=1, "
               "true or yes)");
  options.flag("--force", texts->force, "Work out again what is up to date");
  options.flag("--verify", texts->verify,
               "Tell what is up to date by hashes of all inputs, not by sizes and times");
  command.examples =
      "aggregate-power backfill artifacts --dry-run\n"
      "aggregate-power backfill artifacts --report report.jsonl\n"
      "aggregate-power backfill artifacts.zip --output patched\n"
      "aggregate-power backfill artifacts --shard 0/4 --report report.0.jsonl";
  command.exit_statuses =
      "0 all that could be done is done; 1 some run failed, or has no valid power though power is "
      "required; 2 wrong options; 130 Ctrl-C, 143 SIGTERM";
  command.notes =
      "A run is an aggregate agg_NAME.json with the benchmark result NAME.json and the telemetry "
      "gpu_metrics.csv; see README.md under Backfill for where they are looked for.";
  command.run = [texts](const Options&) { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
