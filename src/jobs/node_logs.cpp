// What a run of several nodes leaves.
#include "aggregate_power/jobs/node_logs.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/jobs/artifact_names.h"

namespace aggregate_power {
namespace {

// By which its artifacts may go.
std::vector<std::string> artifact_names(const StoredRun& run) {
  std::vector<std::string> names;
  const Artifact own = artifact_of(archive_stem(last_name(run.folder.shown)));
  for (const std::string& name : {own.run, run.artifact, run.name}) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// LOGS, with all of these folders in it: in the run's own folder, or in one of its artifacts of
// these kinds, in that folder or beside it.
std::optional<Place> find_logs(const StoredRun& run, std::span<const std::string_view> kinds,
                               std::span<const std::string_view> folders) {
  const auto in = [&](const Folder& folder) {
    auto logs = folder_in(folder, "LOGS");
    const bool has_all = logs && std::ranges::all_of(folders, [&](std::string_view name) {
                           return has_below(*logs, name);
                         });
    return has_all ? std::move(logs) : std::nullopt;
  };
  const auto own = std::make_shared<const Place>(run.folder);
  if (auto found = in(own)) return found;
  for (const std::string_view kind : kinds) {
    for (const std::string& name : artifact_names(run)) {
      for (const Folder& folder : {own, run.folder.folder}) {
        if (!folder) continue;
        auto artifact = artifact_in(folder, fmt::format("{}{}", kind, name));
        if (!artifact) continue;
        if (auto found = in(std::make_shared<const Place>(std::move(*artifact)))) return found;
      }
    }
  }
  return std::nullopt;
}

std::vector<Place> formal_results_in(const Place& folder) {
  const auto shared = std::make_shared<const Place>(folder);
  std::vector<Place> results;
  for (const std::string& name : formal_results(*folder.tree, folder.path)) {
    results.push_back(child(shared, name));
  }
  return results;
}

}  // namespace

std::optional<Place> agentic_logs(const StoredRun& run) {
  constexpr std::string_view kKinds[] = {"power_audit_", "agentic_"};
  constexpr std::string_view kFolders[] = {"agentic", "power"};
  auto logs = find_logs(run, kKinds, kFolders);
  return logs ? std::move(logs) : find_logs(run, kKinds, std::span(kFolders).first(1));
}

std::vector<Place> formal_results_of(const StoredRun& run, const Place& logs) {
  const auto agentic =
      std::make_shared<const Place>(child(std::make_shared<const Place>(logs), "agentic"));
  std::string concurrency;
  for (const std::string& name : artifact_names(run)) {
    const auto number = agentic_concurrency(name, run.name + ".json");
    if (number && !number->empty()) concurrency = *number;
  }
  std::vector<Place> results;
  if (!concurrency.empty()) results = formal_results_in(child(agentic, "conc_" + concurrency));
  if (results.empty()) results = formal_results_in(*agentic);
  if (results.size() == 1 && !concurrency.empty() &&
      formal_concurrency(last_name(results[0].path)) != concurrency) {
    results.clear();
  }
  return results;
}

std::optional<PackageFolders> find_package(const StoredRun& run) {
  constexpr std::string_view kKinds[] = {"power_audit_"};
  constexpr std::string_view kFolders[] = {"power"};
  auto logs = run.layout == Layout::agentic ? agentic_logs(run) : find_logs(run, kKinds, kFolders);
  if (!logs) return std::nullopt;
  auto power = folder_in(std::make_shared<const Place>(*logs), "power");
  if (!power) return std::nullopt;
  return PackageFolders{std::move(*power), std::move(*logs)};
}

}  // namespace aggregate_power
