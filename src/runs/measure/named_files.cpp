// Looks into files that the caller has named, and into those beside them.
#include "runs/measure/named_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "generators/generator_table.h"
#include "recorders/recorder_context.h"
#include "recorders/recording.h"
#include "runs/deployment/run_kinds.h"
#include "runs/window/results_beside.h"

namespace aggregate_power::runs {
namespace {

namespace fs = std::filesystem;

bool is_recording_file(const std::string& path) {
  try {
    const Recording recording(path, std::nullopt, {});
    if (!recording.faults().empty()) return false;
    const SeriesFacts facts = recording.open().facts();
    return facts.has_times() && facts.has_power();
  } catch (const std::runtime_error&) {  // of the system, or of its content
    return false;
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
  found.resize(std::min(found.size(), kMost));
  return found;
}

bool may_be_result(std::string_view name) {
  constexpr std::string_view kEndings[] = {".json", ".jsonl", ".txt"};
  return !is_of_run(name) && has_ending(name, kEndings);
}

std::vector<std::string> results_in(const std::string& folder) {
  std::vector<std::string> results = paths_in(folder, is_file);
  std::erase_if(results, [](const std::string& path) {
    return !may_be_result(last_name(path)) || !is_result_file(path);
  });
  return results;
}

// A folder with one result is a run, one with several folders of runs is several.
std::vector<RunSpec> runs_in_folder(const RunSpec& options, const std::string& folder) {
  if (auto run = run_in_folder(options, folder)) return {std::move(*run)};
  std::vector<RunSpec> runs;
  for (const std::string& one : paths_in(folder, is_folder)) {
    if (auto run = run_in_folder(options, one)) runs.push_back(std::move(*run));
  }
  return runs;
}

// Throws Error if there are several.
std::optional<std::string> recording_beside(const std::string& result) {
  std::vector<std::string> found = candidates_beside(result);
  std::erase_if(found, [](const std::string& path) {
    return is_result_file(path) || !is_recording_file(path);
  });
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return std::move(found.front());
  constexpr std::size_t kShown = 3;
  std::vector<std::string> commands;
  for (const std::string& path : std::span(found).first(std::min(found.size(), kShown))) {
    commands.push_back(fmt::format("'aggregate-power measure {} {}'", printable_path(result),
                                   printable_path(path)));
  }
  throw Error(fmt::format("{}: {} recordings are beside it: choose one: {}", printable_path(result),
                          found.size(), fmt::join(commands, " or ")));
}

}  // namespace

bool is_result_file(const std::string& path) {
  if (path == "-" || !is_regular_file(path)) return false;
  try {
    const LoadGenerator* const generator = recognized(load_file(path));
    return generator != nullptr && !generator->is_recording;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::optional<RunSpec> run_in_folder(const RunSpec& options, const std::string& folder) {
  const std::vector<std::string> results = results_in(folder);
  if (results.empty()) return std::nullopt;
  if (results.size() > 1) {
    throw Error(fmt::format("{}: {} results are in it: name one of {}", printable_path(folder),
                            results.size(), fmt::join(results, ", ")));
  }
  RunSpec run = options;
  run.bench_result = results.front();
  run.telemetry.clear();
  return run;
}

void find_result(RunSpec& run) {
  std::vector<std::string> results;
  std::ranges::copy_if(run.telemetry, std::back_inserter(results), is_result_file);
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
    std::ranges::move(runs_in_folder(run, path), std::back_inserter(runs));
  }
  return runs.empty() ? std::vector{run} : runs;
}

}  // namespace aggregate_power::runs
