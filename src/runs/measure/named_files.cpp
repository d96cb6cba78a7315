// Looks into files that the caller has named, and into those beside them.
#include "runs/measure/named_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/encoding.h"
#include "core/load/result_values.h"
#include "generators/generator_table.h"
#include "recorders/recorder_context.h"
#include "recorders/recorder_table.h"
#include "recorders/recording.h"
#include "runs/deployment/run_kinds.h"
#include "runs/inspect/inspect.h"
#include "runs/window/results_beside.h"

namespace aggregate_power::runs {
namespace {

namespace fs = std::filesystem;

// None of a recording that cannot be opened.
SeriesFacts facts_of(const Recording& recording) {
  return recording.faults().empty() ? recording.open().facts() : SeriesFacts();
}

enum class Readable { yes, by_names, no };  // by_names: with --columns

Readable readable(const std::string& path) {
  try {
    const Reasons why = why_no_power(Recording(path, std::nullopt, {}));
    if (why.empty()) return Readable::yes;
    return why.contains(Reason::no_header) ? Readable::by_names : Readable::no;
  } catch (const std::runtime_error&) {  // of the system, or of its content
    return Readable::no;
  }
}

// Also where a compression added an ending.
bool has_ending(std::string_view name, std::span<const std::string_view> endings) {
  for (const std::string_view compression : kCompressions) {
    if (!compression.empty() && name.ends_with(compression)) {
      name.remove_suffix(compression.size());
    }
  }
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

bool may_be_recording(std::string_view name) {
  constexpr std::string_view kEndings[] = {".csv", ".tsv", ".txt", ".log", ".jsonl", ".json"};
  return !is_of_run(name) && has_ending(name, kEndings);
}

bool may_be_result(std::string_view name) {
  constexpr std::string_view kEndings[] = {".json", ".jsonl", ".txt", ".yaml", ".csv"};
  return !is_of_run(name) && has_ending(name, kEndings);
}

bool is_file(TreeEntry::Kind kind) { return kind == TreeEntry::Kind::file; }

bool is_folder(TreeEntry::Kind kind) {
  return kind == TreeEntry::Kind::folder || kind == TreeEntry::Kind::folder_link;
}

// The files beside a result that may be its recording, by their names.
std::vector<std::string> candidates_beside(const std::string& result) {
  constexpr std::size_t kMost = 100;
  std::vector<std::string> found = paths_in(fs::path(result).parent_path().string(), is_file);
  std::erase_if(found, [&](const std::string& path) {
    return path == result || !may_be_recording(last_name(path));
  });
  // There may be many results.
  constexpr std::string_view kUsual[] = {".csv", ".tsv", ".log"};
  std::stable_partition(found.begin(), found.end(), [&](const std::string& path) {
    return has_ending(last_name(path), kUsual);
  });
  found.resize(std::min(found.size(), kMost));
  return found;
}

// Null: no generator writes it, or it cannot be read.
const LoadGenerator* writer_of_file(const std::string& path) {
  if (path == "-" || !is_regular_file(path)) return nullptr;
  try {
    return recognized(load_file(path));
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

// Null: it is not a result, or cannot be read.
const LoadGenerator* generator_of_file(const std::string& path) {
  const LoadGenerator* const writer = writer_of_file(path);
  return writer == nullptr || writer->is_recording ? nullptr : writer;
}

// The runs of the folder itself, else of the folders in it.
std::vector<RunSpec> runs_below(const RunSpec& options, const std::string& folder) {
  std::vector<RunSpec> runs = runs_of_folder(options, folder);
  if (!runs.empty()) return runs;
  for (const std::string& one : paths_in(folder, is_folder)) {
    append(runs, runs_of_folder(options, one));
  }
  return runs;
}

// Throws Error if there are several.
std::optional<std::string> recording_beside(const std::string& result) {
  std::vector<std::string> found;
  std::vector<std::string> unnamed;  // without a header
  for (std::string& path : candidates_beside(result)) {
    if (is_result_file(path)) continue;
    const Readable is = readable(path);
    if (is == Readable::no) continue;
    (is == Readable::yes ? found : unnamed).push_back(std::move(path));
  }
  if (found.empty()) found = std::move(unnamed);
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return std::move(found.front());
  constexpr std::size_t kShown = 3;
  std::vector<std::string> commands;
  for (const std::string& path : std::span(found).first(std::min(found.size(), kShown))) {
    commands.push_back(fmt::format("'aggregate-power measure {} {}'", printable_path(result),
                                   printable_path(path)));
  }
  std::string all;
  std::set<std::string> contents;  // no copy can be given as well
  for (const std::string& path : found) {
    all += " " + printable_path(path);
    contents.insert(hash_of(OpenedFile(path)));
  }
  if (contents.size() == found.size()) {
    all = fmt::format(
        "; or, if each is of a host of its own, give all: 'aggregate-power measure {}{}'",
        printable_path(result), all);
  } else {
    all.clear();
  }
  throw Error(fmt::format("{}: {} recordings are beside it: choose one: {}{}",
                          printable_path(result), found.size(), fmt::join(commands, " or "), all));
}

// An aggregate, or a record, beside them.
void refuse_own_files(const RunSpec& run) {
  std::vector<std::string> files = run.telemetry;
  if (!run.bench_result.empty()) files.push_back(run.bench_result);
  for (const std::string& file : files) {
    if (!is_of_run(last_name(file)) || !is_regular_file(file)) continue;
    if (is_recording(file) || is_result_file(file)) continue;
    throw Error(fmt::format(
        "{} is neither a result nor a recording: leave it out; 'aggregate-power patch --agg-result' writes the energy into an aggregate, and 'aggregate-power inspect {}' says what it is",
        printable_path(file), printable_path(file)));
  }
}

constexpr std::string_view kMembersOfResult[] = {"benchmark_start_time_unix",
                                                 "benchmark_end_time_unix", "duration", "completed",
                                                 "total_output_tokens"};
constexpr std::string_view kMembersOfAggregate[] = {"hw", "framework", "precision"};

// Empty if it cannot be read.
std::string head_of(const std::string& path) {
  if (path == "-" || !is_regular_file(path)) return {};
  try {
    return read_up_to(*as_utf8(load_file(path).open()), kHeadBytes);
  } catch (const std::runtime_error&) {
    return {};
  }
}

// Whether a file is JSON whose beginning has one of these members.
bool has_any(const std::string& path, std::span<const std::string_view> members) {
  const std::string text = head_of(path);
  const ResultHead head = result_head(text);
  return std::ranges::any_of(members, [&](std::string_view key) { return head.has(key); });
}

// A file that was named as the result, next to recordings, and that no generator writes. One with
// members of a result is read, and what it lacks is a reason.
void refuse_unrecognized(const RunSpec& run) {
  const std::size_t count = run.telemetry.size() + (run.bench_result.empty() ? 0 : 1);
  if (run.given.has_window() || run.telemetry.empty() || count < 2) return;
  std::vector<std::string> files = run.telemetry;
  if (!has_any(run.bench_result, kMembersOfResult)) files.push_back(run.bench_result);
  for (const std::string& file : files) {
    const std::string head = head_of(file);
    const bool has_members = !result_head(head).keys.empty();
    if (!has_members || is_known_recording(head) || is_recording(file)) continue;
    if (const auto why = unrecognized_json(file)) {
      throw Error(fmt::format("{}: {}", printable_path(file), *why));
    }
  }
}

}  // namespace

void refuse_swapped(const RunSpec& run) {
  const std::string& result = run.bench_result;
  if (!is_regular_file(result) || has_any(result, kMembersOfResult) || is_result_file(result)) {
    return;
  }
  const auto refuse = [&](std::string_view option, const std::string& file, std::string_view is) {
    throw Error(fmt::format(
        "--bench-result {} is {}, and {} {} a benchmark result: they are swapped; nothing was written",
        printable_path(result), is, option, printable_path(file)));
  };
  const auto is_result = [](const std::string& file) {
    return has_any(file, std::span(kMembersOfResult).first(2)) || is_result_file(file);
  };
  const bool are_other =
      has_any(result, kMembersOfAggregate) && !has_any(run.agg_result, kMembersOfAggregate);
  if (are_other && is_result(run.agg_result)) {
    refuse("--agg-result", run.agg_result, "an aggregate");
  }
  for (const std::string& file : run.telemetry) {
    if (is_result(file) && is_recording(result)) refuse("--csv", file, "a recording");
  }
}

Reasons why_no_power(const Recording& recording) {
  const SeriesFacts facts = facts_of(recording);
  if (!recording.faults().empty()) return recording.faults();
  return facts.has_times() && facts.has_power() ? Reasons() : facts.reasons;
}

bool is_result_file(const std::string& path) { return generator_of_file(path) != nullptr; }

bool is_recording(const std::string& path) {
  if (path.empty() || path == "-" || is_result_file(path)) return false;
  try {
    std::error_code ignored;
    if (fs::is_directory(path, ignored) && !runs_below({}, path).empty()) return false;
    const SeriesFacts facts = facts_of(Recording(path, std::nullopt, {}));
    return !facts.schema.empty() && facts.has_power();
  } catch (const std::runtime_error&) {  // as in readable()
    return false;
  }
}

bool is_recording_of_generator(const std::string& path) {
  const LoadGenerator* const writer = writer_of_file(path);
  return writer != nullptr && writer->is_recording;
}

std::vector<RunSpec> runs_of_folder(const RunSpec& options, const std::string& folder) {
  std::vector<std::string> results;
  std::set<const LoadGenerator*> generators;
  for (std::string& path : paths_in(folder, is_file)) {
    if (!may_be_result(last_name(path))) continue;
    const LoadGenerator* const generator = generator_of_file(path);
    if (generator == nullptr) continue;
    generators.insert(generator);
    results.push_back(std::move(path));
  }
  if (generators.size() > 1) {
    throw Error(fmt::format("{}: results of {} generators are in it: name one of {}",
                            printable_path(folder), generators.size(), fmt::join(results, ", ")));
  }
  std::vector<RunSpec> runs(results.size(), options);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].bench_result = std::move(results[i]);
    runs[i].telemetry.clear();
  }
  return runs;
}

void find_result(RunSpec& run) {
  refuse_own_files(run);
  std::vector<std::string> results;
  std::ranges::copy_if(run.telemetry, std::back_inserter(results), is_result_file);
  if (results.empty() && !is_result_file(run.bench_result)) refuse_unrecognized(run);
  if (results.empty()) return;
  if (is_result_file(run.bench_result)) results.insert(results.begin(), run.bench_result);
  if (results.size() > 1) {
    throw Error(fmt::format(
        "{} results are named: name one of {} with its recording, or a folder for each run",
        results.size(), fmt::join(results, ", ")));
  }
  std::erase(run.telemetry, results.front());
  std::string other = std::exchange(run.bench_result, std::move(results.front()));
  if (!other.empty()) run.telemetry.insert(run.telemetry.begin(), std::move(other));
}

std::vector<std::string> recordings_near(const RunSpec& run, bool is_of_folder) {
  if (!run.telemetry.empty() || run.bench_result.empty()) return recordings_of(run);
  const char* const named = std::getenv("GPU_METRICS_CSV");
  if (named != nullptr && *named != '\0') return recordings_of(run);
  std::string usual = beside(run.bench_result, "gpu_metrics.csv");
  if (is_regular_file(usual)) return {std::move(usual)};
  const std::vector<std::string> here = recordings_of(run);
  if (!is_of_folder && is_regular_file(here.front())) return here;
  if (auto only = recording_beside(run.bench_result)) return {std::move(*only)};
  return here;
}

std::vector<RunSpec> runs_in_folders(const RunSpec& run) {
  std::vector<std::string> named = run.telemetry;
  if (!run.bench_result.empty()) named.insert(named.begin(), run.bench_result);
  std::vector<RunSpec> runs;
  for (const std::string& path : named) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) return {run};
    append(runs, runs_below(run, path));
  }
  return runs.empty() ? std::vector{run} : runs;
}

}  // namespace aggregate_power::runs
