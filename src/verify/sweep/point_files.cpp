// Searches a sweep's artifacts for the files of a point.
#include "verify/sweep/point_files.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

// What a row of the matrix must say of its aggregate.
constexpr const char* kIdentity[] = {
    "recipe_fingerprint", "conc",   "infmax_model_prefix", "hw", "framework",
    "precision",          "disagg", "is_multinode"};

std::string folder_of(const std::string& path) {
  return path.substr(0, std::min(path.rfind('/'), path.size()));
}

bool has_component(std::string_view path, std::string_view component) {
  return fmt::format("/{}/", path).find(fmt::format("/{}/", component)) != std::string::npos;
}

// The names that distinguish several records of one artifact.
bool is_of_point(const JsonValue& record, const std::string& path, const PointEvidence& found) {
  const std::string& result = record.at("benchmark_result").text;
  std::string_view name = last_name(found.aggregate_path);
  if (name.starts_with("agg_")) name.remove_prefix(4);
  const std::string& conc = found.aggregate.at("conc").text;
  return last_name(result) == name || result.ends_with(fmt::format("concurrency_{}.json", conc)) ||
         has_component(path, fmt::format("conc_{}", conc));
}

std::vector<std::string> named_below(const Evidence& evidence, const std::string& folder,
                                     bool (*is_wanted)(std::string_view name)) {
  std::vector<std::string> files = evidence.files_below(folder);
  std::erase_if(files, [&](const std::string& file) { return !is_wanted(last_name(file)); });
  return files;
}

// The selected window's file must be that of the point, at its time.
void check_window_file(const Evidence& evidence, const PointEvidence& found, PointFaults& faults) {
  const JsonValue& file = found.record.at("selected_window").at("window_file");
  if (!file.is_string() || !is_path_below(file.text)) {
    faults.add_at(found.record_path, "'selected_window' does not name a file of the package");
    return;
  }
  const std::string path = join_path(found.place, file.text);
  const JsonValue window = evidence.json(path);
  const JsonValue& span = found.record.at("benchmark_window");
  const auto expect = [&](const char* key, const JsonValue& expected) {
    const JsonValue& said = window.at(key);
    if (equal_in_python(said, expected)) return;
    faults.add_at(path, fmt::format("'{}'", key), expected.shown(), said.shown());
  };
  expect("status", JsonValue::string("completed"));
  expect("concurrency", found.aggregate.at("conc"));
  expect("benchmark_start_time_unix", span.at("start_time_unix"));
  expect("benchmark_end_time_unix", span.at("end_time_unix"));
}

bool find_package(const Evidence& evidence, const std::string& artifact, PointEvidence& found,
                  PointFaults& faults) {
  // The CPUs' samples have another manifest.
  std::vector<std::string> packages =
      named_below(evidence, artifact, [](std::string_view name) { return name == "samples.csv"; });
  std::erase_if(packages, [&](const std::string& samples) {
    return !evidence.has_file(beside(samples, "manifest.json"));
  });
  if (packages.size() != 1) {
    faults.add_at(artifact, "files samples.csv with a manifest.json beside them", "1",
                  std::to_string(packages.size()));
    return false;
  }
  found.place = folder_of(packages[0]);
  found.recordings = evidence.files_below(found.place);
  check_window_file(evidence, found, faults);
  return true;
}

bool find_native(const Evidence& evidence, const std::string& artifact, PointEvidence& found,
                 PointFaults& faults) {
  const std::vector<std::string> recordings = named_below(
      evidence, artifact, [](std::string_view name) { return name == "gpu_metrics.csv"; });
  const std::size_t nodes = found.record.at("nodes").items.size();
  std::set<std::string> files;
  std::set<std::string> packages;
  for (const std::string& recording : recordings) {
    const std::string node = folder_of(recording);
    for (std::string& file : evidence.files_below(node)) files.insert(std::move(file));
    packages.insert(folder_of(node));
  }
  found.recordings.assign(files.begin(), files.end());
  if (recordings.size() != nodes || nodes == 0) {
    faults.add_at(artifact, "files gpu_metrics.csv, one for each node of the record",
                  std::to_string(nodes), std::to_string(recordings.size()));
    return false;
  }
  if (packages.size() != 1) {
    faults.add_at(artifact, "folders that hold the folders of nodes", "1",
                  fmt::format("{} ({})", packages.size(), fmt::join(packages, ", ")));
    return false;
  }
  found.place = *packages.begin();
  return true;
}

bool find_one_node(const Evidence& evidence, PointEvidence& found, PointFaults& faults) {
  const auto path = [&](const char* name) { return beside(found.record_path, name); };
  const std::string uuids = evidence.has_file(path("gpu_metrics_identity.csv"))
                                ? path("gpu_metrics_identity.csv")
                                : path("gpu_metrics_devices.json");
  found.place = path("gpu_metrics.csv");
  found.identity = {path("power_node.txt"), uuids};
  found.recordings = {found.place};
  bool is_whole = true;
  for (const std::string& file : {found.identity[0], found.identity[1], found.place}) {
    const std::string fault = evidence.artifact_fault(file);
    if (!fault.empty()) faults.add_at(file, fault);
    is_whole &= fault.empty();
  }
  return is_whole;
}

}  // namespace

Aggregates::Aggregates(const Evidence& evidence, std::size_t most_threads) {
  std::vector<std::string> paths;
  for (const std::string& folder : evidence.folders("bmk")) {
    evidence.tree().list(evidence.full(folder), [&](const TreeEntry& entry) {
      const bool is_json = entry.name.ends_with(".json") && entry.kind == TreeEntry::Kind::file;
      if (is_json) paths.push_back(join_path(folder, entry.name));
    });
  }
  std::ranges::sort(paths, path_less);
  std::vector<JsonValue> said(paths.size());
  std::vector<std::string> wrong(paths.size());
  std::atomic<bool> could_not_open = false;
  in_parallel(paths.size(), most_threads, [&](std::size_t i) {
    try {
      const JsonValue aggregate = evidence.json(paths[i]);
      said[i] = JsonValue::object();
      for (const char* const key : kIdentity) said[i].members.emplace_back(key, aggregate.at(key));
    } catch (const FileError& error) {
      wrong[i] = error.what();
      could_not_open = true;
    } catch (const Error& error) {
      wrong[i] = error.what();
    }
  });
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!wrong[i].empty()) faults_.push_back({1, paths[i], "cannot be read: " + wrong[i]});
    if (!wrong[i].empty()) continue;
    std::string fingerprint = said[i].at("recipe_fingerprint").text;
    by_fingerprint_.emplace(std::move(fingerprint), std::pair(paths[i], std::move(said[i])));
  }
  could_not_open_ = could_not_open;
}

std::vector<std::string> Aggregates::matching(const RequiredPoint& point) const {
  const JsonValue& row = *point.row;
  const JsonValue expected[] = {row.at("recipe-fingerprint"), point.concurrency,
                                row.at("model-prefix"),       row.at("runner"),
                                row.at("framework"),          row.at("precision")};
  const auto is_boolean = [](const JsonValue& value, bool wanted) {
    return value.kind == JsonKind::boolean && value.is_true() == wanted;
  };
  std::vector<std::string> paths;
  const auto [begin, end] = by_fingerprint_.equal_range(expected[0].text);
  for (auto entry = begin; entry != end; ++entry) {
    const auto& [path, said] = entry->second;
    bool matches = is_boolean(said.at("disagg"), point.is_disaggregated()) &&
                   is_boolean(said.at("is_multinode"), point.is_multinode);
    for (std::size_t i = 0; i < std::size(expected); ++i) {
      matches = matches && equal_in_python(said.at(kIdentity[i]), expected[i]);
    }
    if (matches) paths.push_back(path);
  }
  std::ranges::sort(paths, path_less);
  return paths;
}

std::vector<std::string> PointEvidence::all() const {
  std::vector<std::string> files = {aggregate_path, record_path};
  append(files, identity);
  append(files, recordings);
  std::ranges::sort(files, path_less);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::string run_of_artifact(const RequiredPoint& point, const std::string& aggregate_path) {
  std::string_view name = std::string_view(aggregate_path).substr(0, aggregate_path.find('/'));
  const std::string_view mark = point.is_agentic() ? "bmk_agentic_" : "bmk_";
  if (name.starts_with(mark)) name.remove_prefix(mark.size());
  return std::string(name);
}

bool find_record(const Evidence& evidence, const RequiredPoint& point, PointEvidence& found,
                 PointFaults& faults) {
  const std::string run = run_of_artifact(point, found.aggregate_path);
  const std::string artifact = (point.is_agentic() ? "agentic_" : "power_audit_") + run;
  const std::vector<std::string> records = named_below(evidence, artifact, is_run_record_name);
  std::vector<std::string> ours;
  for (const std::string& path : records) {
    JsonValue record = evidence.json(path);
    if (records.size() > 1 && !is_of_point(record, path, found)) continue;
    ours.push_back(path);
    found.record_path = path;
    found.record = std::move(record);
  }
  if (ours.size() == 1) return true;
  faults.add_at(artifact, fmt::format("audit records power_validation*.json of {}", faults.point()),
                "1",
                ours.empty() ? "none" : fmt::format("{} ({})", ours.size(), fmt::join(ours, ", ")));
  return false;
}

bool find_point_telemetry(const Evidence& evidence, const RequiredPoint& point,
                          PointEvidence& found, PointFaults& faults) {
  if (!point.is_multinode) return find_one_node(evidence, found, faults);
  const std::string artifact = "power_audit_" + run_of_artifact(point, found.aggregate_path);
  const bool is_native = found.record.at("telemetry_kind").text == "native_multinode_smi";
  found.telemetry = is_native ? TelemetryKind::native : TelemetryKind::package;
  return is_native ? find_native(evidence, artifact, found, faults)
                   : find_package(evidence, artifact, found, faults);
}

}  // namespace aggregate_power
