// Looks for folders with a result and a recording, in which nothing was published.
#include "store/catalogue/unmeasured_runs.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/json_value.h"
#include "core/record/record_read.h"
#include "core/record/record_write.h"
#include "runs/measure/measure.h"
#include "runs/measure/named_files.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFolders = 3;  // one in another

bool is_in(const PublishedRun& run, const std::string& folder) {
  return folder == "." || run.name.starts_with(folder + "/");
}

// An aggregate of 'measure --out' without an energy does not hide the run.
bool is_refused_measurement(const PublishedRun& run) {
  return run.state != PowerState::valid && run.members.find(kMeasuredKey);
}

std::string normal_folder(const fs::path& folder) { return folder.lexically_normal().string(); }

// The folder of a run.
std::string own_folder(const PublishedRun& run) {
  const fs::path file = run.name;
  return file.has_parent_path() ? normal_folder(file.parent_path()) : ".";
}

bool is_folder_itself(TreeEntry::Kind kind) { return kind == TreeEntry::Kind::folder; }

// The inputs of published runs, wherever they are now: a result and a recording by their sizes,
// then by what is in them.
class PublishedInputs {
 public:
  explicit PublishedInputs(const std::vector<PublishedRun>& runs) {
    for (const PublishedRun& run : runs) {
      if (run.record && !is_refused_measurement(run)) add(run.record.place());
    }
  }

  // May throw FileError.
  bool contain(const RunSpec& run) const {
    const OpenedFile result(run.bench_result);
    const OpenedFile recording(run.telemetry.front());
    const auto found = hashes_.find({result.size(), recording.size()});
    return found != hashes_.end() && found->second.contains({hash_of(result), hash_of(recording)});
  }

 private:
  void add(const StorePath& record) {
    try {
      const JsonValue content = read_json_object(record);
      InputFile result;
      InputFile recording;
      for (const InputFile& input :
           recorded_inputs(content)) {  // a role, or a path as it was named
        if (input.role == "benchmark_result" || input.role == content.at("benchmark_result").text) {
          result = input;
        } else if (input.role == "telemetry" || input.role == recorded_telemetry(content)) {
          recording = input;
        }
      }
      hashes_[{result.bytes, recording.bytes}].emplace(result.hash, recording.hash);
    } catch (const std::runtime_error&) {  // it says nothing
    }
  }

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<std::pair<std::string, std::string>>>
      hashes_;
};

bool is_link(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored);
}

struct Measured {
  std::vector<PublishedRun> runs = {};
  std::vector<std::string> warnings = {};
};

Measured measured_runs_of(const RunSpec& run, AmongRuns among) {
  Measured measured;
  try {
    const MeasureReport report = measure_run(run, among);
    measured.warnings = report.err;
    if (report.out.empty()) return measured;
    const JsonValue json = parse_json(report.out);
    const std::string read_as = fmt::format(R"({{"{}": {{"timezone": "{}"}}}})", kComputedFrom,
                                            run.zone ? run.zone->name() : "local");
    for (const JsonValue& one : json.at("runs").items) {
      PublishedRun& published = measured.runs.emplace_back(measured_run_of(one));
      published.name = run.bench_result;
      published.identity =
          fmt::format("{}:{}", file_identity(published.name), measured.runs.size());
      set_computed_telemetry(published, run.telemetry.size() == 1 ? run.telemetry.front() : "");
      published.read_as = read_as;
      for (const JsonValue& warning : one.at("warnings").items) {
        if (!warning.text.starts_with("--calibration")) continue;
        measured.warnings.push_back(
            fmt::format("{}: {}", printable_path(run.bench_result), warning.text));
      }
    }
  } catch (const std::runtime_error& error) {
    measured.warnings.emplace_back(error.what());
  }
  return measured;
}

std::string folder_of(const RunSpec& run) {
  return fs::path(run.bench_result).parent_path().string();
}

// Measures the runs in folders, a part of them at a time, so that few are held.
struct RunSearch {
  const RunSpec& measuring;
  const std::vector<PublishedRun>& published;
  unsigned most_threads;
  std::set<std::string> known = {};           // folders with runs
  std::set<std::string> refused = {};         // folders of refused measurements
  std::set<std::string> measured_again = {};  // of these
  std::vector<std::string> warnings = {};
  Measured found = {};
  std::size_t tried = 0;
  std::vector<RunSpec> measurable = {};
  std::optional<PublishedInputs> inputs = {};

  void look_into(const std::string& folder, int levels) {
    constexpr std::size_t kPart = 256;
    if (!known.contains(normal_folder(folder)) && add_run(folder)) {
      if (measurable.size() >= kPart) measure_part(false);
      return;
    }
    if (levels == 0) return;
    for (const std::string& below : paths_in(folder, is_folder_itself)) {
      look_into(below, levels - 1);
    }
  }

  // Whether the folder itself has runs.
  bool add_run(const std::string& folder) {
    try {
      std::vector<RunSpec> runs = runs::runs_of_folder(measuring, folder);
      for (RunSpec& run : runs) {
        run.telemetry = runs::recordings_near(run, true);
        if (is_link(run.bench_result) || is_link(run.telemetry.front())) {
          warnings.push_back(
              fmt::format("{}: a link leads to its files, and is not followed: name their folder",
                          printable_path(folder)));
        } else if (is_regular_file(run.telemetry.front())) {
          measurable.push_back(std::move(run));
        }
      }
      return !runs.empty();
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
      return true;
    }
  }

  void measure_part(bool is_last) {
    std::map<std::string, std::size_t> results;  // by their folder
    for (const RunSpec& run : measurable) ++results[folder_of(run)];
    std::erase_if(measurable, [&](const RunSpec& run) { return is_published(run); });
    const bool is_alone = is_last && tried == 0 && measurable.size() == 1;
    std::vector<Measured> measured(measurable.size());
    in_parallel(measured.size(), most_threads, [&](std::size_t i) {
      RunSpec run = measurable[i];
      run.json = true;
      measured[i] = measured_runs_of(run, {.is_alone = is_alone,
                                           .shares_recording = results.at(folder_of(run)) > 1,
                                           .refuses_failed = true});
    });
    for (Measured& one : measured) {
      append(found.runs, std::move(one.runs));
      append(found.warnings, std::move(one.warnings));
    }
    for (const RunSpec& run : measurable) {
      const std::string folder = normal_folder(folder_of(run));
      if (refused.contains(folder)) measured_again.insert(folder);
    }
    tried += measurable.size();
    measurable.clear();
  }

  bool is_published(const RunSpec& run) {
    if (published.empty()) return false;
    if (!inputs) inputs.emplace(published);
    try {
      return inputs->contain(run);
    } catch (const FileError&) {  // its measurement says so
      return false;
    }
  }
};

}  // namespace

std::size_t add_unmeasured_runs(const std::vector<std::string>& places, const RunSpec& measuring,
                                unsigned most_threads, PublishedRuns& found) {
  const auto is_of_measure = [](const PublishedRun& run) {
    return run.members.find(kMeasuredKey).has_value();
  };
  RunSearch search{measuring, found.runs, most_threads};
  for (const PublishedRun& run : found.runs) {
    (is_refused_measurement(run) ? search.refused : search.known).insert(own_folder(run));
  }
  for (const std::string& place : places) {
    std::error_code ignored;
    if (!fs::is_directory(place, ignored)) continue;
    const bool is_store = std::ranges::any_of(found.runs, [&](const PublishedRun& run) {
      return is_in(run, place) && !is_of_measure(run);
    });
    if (!is_store) search.look_into(place, kMostFolders);
  }
  search.measure_part(true);
  append(found.warnings, std::move(search.warnings));
  std::erase_if(found.runs, [&](const PublishedRun& run) {
    return is_refused_measurement(run) && search.measured_again.contains(own_folder(run));
  });
  const std::size_t count = search.found.runs.size();
  append(found.warnings, std::move(search.found.warnings));
  if (count == 0) return 0;
  if (found.runs.empty()) {
    found.runs = std::move(search.found.runs);
  } else {
    append(found.runs, std::move(search.found.runs));
  }
  found.notes.push_back(
      fmt::format("{} in {} had not been measured: measured here, and not written",
                  count == 1 ? "1 run" : fmt::format("{} runs", count), fmt::join(places, ", ")));
  return count;
}

void note_unused_options(const RunSpec& measuring, std::vector<std::string>& notes) {
  std::vector<std::string> given;
  if (measuring.gpus.is_given()) given.emplace_back("--gpus");
  if (measuring.accepted_window != RunOptions::Accepted::exact) given.emplace_back("--window");
  if (measuring.zone) given.emplace_back("--timezone");
  if (!measuring.calibration.empty()) given.emplace_back("--calibration");
  if (measuring.result_zone) given.emplace_back("--result-timezone");
  if (given.empty()) return;
  notes.push_back(
      fmt::format("{} had no effect: only runs that are measured here heed {}, and none was",
                  fmt::join(given, ", "), given.size() == 1 ? "it" : "them"));
}

}  // namespace aggregate_power
