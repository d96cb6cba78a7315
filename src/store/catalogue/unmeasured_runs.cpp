// Looks for folders with a result and a recording, in which nothing was published.
#include "store/catalogue/unmeasured_runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/json_value.h"
#include "runs/measure/measure.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFolders = 3;  // one in another

bool is_in(const PublishedRun& run, const std::string& folder) {
  const std::string& file = run.aggregate.empty() ? run.name : run.aggregate;
  return folder == "." || file.starts_with(folder + "/");
}

// Sorted.
std::vector<std::string> subfolders_of(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code fault;
  for (fs::directory_iterator entry(folder, fault), end; !fault && entry != end;
       entry.increment(fault)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
      folders.push_back(join_path(folder, entry->path().filename().string()));
    }
  }
  std::ranges::sort(folders);
  return folders;
}

bool is_link(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored);
}

struct RunSearch {
  const RunSpec& measuring;
  const PublishedRuns& found;
  std::vector<RunSpec> measurable = {};
  std::vector<std::string> warnings = {};

  void look_into(const std::string& folder, int levels) {
    const auto is_here = [&](const PublishedRun& run) { return is_in(run, folder); };
    const bool is_known = std::ranges::any_of(found.runs, is_here);
    if (!is_known && add_run(folder)) return;
    if (levels == 0) return;
    for (const std::string& below : subfolders_of(folder)) look_into(below, levels - 1);
  }

  // Whether the folder itself is a run.
  bool add_run(const std::string& folder) {
    try {
      std::optional<RunSpec> run = runs::run_in_folder(measuring, folder);
      if (!run) return false;
      run->telemetry = runs::recordings_near(*run, true);
      if (is_link(run->bench_result) || is_link(run->telemetry.front())) {
        warnings.push_back(fmt::format("{}: a link leads to its files, and is not followed",
                                       printable_path(folder)));
      } else if (is_regular_file(run->telemetry.front())) {
        measurable.push_back(std::move(*run));
      }
      return true;
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
      return true;
    }
  }
};

struct Measured {
  std::vector<PublishedRun> runs = {};
  std::vector<std::string> warnings = {};
};

Measured measured_runs_of(const RunSpec& run) {
  Measured measured;
  try {
    const MeasureReport report = measure_run(run);
    measured.warnings = report.err;
    if (report.out.empty()) return measured;
    const JsonValue json = parse_json(report.out);
    for (const JsonValue& one : json.at("runs").items) {
      PublishedRun& published = measured.runs.emplace_back(measured_run_of(one));
      published.name = run.bench_result;
      published.identity = fmt::format("{}:{}", run.bench_result, measured.runs.size());
    }
  } catch (const std::runtime_error& error) {
    measured.warnings.emplace_back(error.what());
  }
  return measured;
}

}  // namespace

void add_unmeasured_runs(const std::vector<std::string>& places, const RunSpec& measuring,
                         unsigned most_threads, PublishedRuns& found) {
  const auto is_of_measure = [](const PublishedRun& run) {
    return run.members.find(kMeasuredKey) != nullptr;
  };
  RunSearch search{measuring, found};
  for (const std::string& place : places) {
    std::error_code ignored;
    if (!fs::is_directory(place, ignored)) continue;
    const bool is_store = std::ranges::any_of(found.runs, [&](const PublishedRun& run) {
      return is_in(run, place) && !is_of_measure(run);
    });
    if (!is_store) search.look_into(place, kMostFolders);
  }
  std::vector<Measured> measured(search.measurable.size());
  in_parallel(measured.size(), most_threads, [&](std::size_t i) {
    RunSpec run = search.measurable[i];
    run.json = true;
    measured[i] = measured_runs_of(run);
  });
  std::ranges::move(search.warnings, std::back_inserter(found.warnings));
  std::size_t count = 0;
  for (Measured& one : measured) {
    count += one.runs.size();
    std::ranges::move(one.runs, std::back_inserter(found.runs));
    std::ranges::move(one.warnings, std::back_inserter(found.warnings));
  }
  if (count == 0) return;
  found.notes.push_back(
      fmt::format("{} in {} had not been measured: measured here, and not written",
                  count == 1 ? "1 run" : fmt::format("{} runs", count), fmt::join(places, ", ")));
}

}  // namespace aggregate_power
