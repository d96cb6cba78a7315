// Searches for the pieces of a run, near it and in the whole store.
#include "store/catalogue/pieces.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "generators/aiperf.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
namespace {

std::vector<std::string> folders_in(const StorePath& folder) {
  std::vector<std::string> names;
  folder.tree->list(folder.path, [&](const TreeEntry& entry) {
    if (entry.kind == TreeEntry::Kind::folder) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  return names;
}

void find_pieces(const Folder& folder, PieceKind kind, int level, std::vector<StorePath>& pieces) {
  if (level > kMostLevels) return;
  const bool is_profile = last_name(folder->path) == kProfileFolder;
  if (is_profile && kind == PieceKind::benchmark_result) {
    const auto records = find_records(*folder->tree, folder->path);
    auto place = records ? file_below(*folder, *records) : std::nullopt;
    if (place) pieces.push_back(std::move(*place));
  }
  if (is_profile) return;
  if (kind == PieceKind::telemetry) {
    if (auto csv = maybe_compressed_in(folder, "gpu_metrics.csv"))
      pieces.push_back(std::move(*csv));
  }
  for (const std::string& name : folders_in(*folder)) {
    find_pieces(std::make_shared<const StorePath>(child(folder, name)), kind, level + 1, pieces);
  }
}

// All profiles in the folders that AIPerf makes by default, one for each of its runs.
void find_default_profiles(const Folder& folder, int level, std::vector<StorePath>& pieces) {
  if (level > kMostLevels) return;
  if (last_name(folder->path) == kDefaultProfileFolder) {
    for (const std::string& records : all_records(*folder->tree, folder->path)) {
      if (auto place = file_below(*folder, records)) pieces.push_back(std::move(*place));
    }
    return;
  }
  for (const std::string& name : folders_in(*folder)) {
    find_default_profiles(std::make_shared<const StorePath>(child(folder, name)), level + 1,
                          pieces);
  }
}

// The pieces near the run, else those anywhere in the store. Returns nullopt if the rest of the
// store matters and is not known yet.
std::optional<Candidates> candidates(const StoredRun& run, FoundPieces near, PieceKind kind,
                                     const Namesakes* namesakes) {
  Candidates candidates{.places = std::move(near.pieces), .are_own = near.is_own};
  const bool is_near = !candidates.places.empty();
  if (namesakes == nullptr) {
    return is_near && candidates.are_own ? std::optional(std::move(candidates)) : std::nullopt;
  }
  const auto& texts = namesakes->pieces[static_cast<std::size_t>(kind)];
  candidates.are_only_namesakes = namesakes->runs == 1 && (!is_near || texts.size() <= 1);
  if (is_near) return candidates;
  candidates.are_too_many = texts.size() > kMostCandidates;
  for (const std::string& text : texts) {
    if (!candidates.are_too_many || candidates.places.empty()) {
      candidates.places.push_back(store_path_of(text, run.folder.tree->access()));
    }
  }
  return candidates;
}

std::optional<RunPieces> one_node(const StoredRun& run, FoundPieces telemetry_near,
                                  const Namesakes* namesakes) {
  auto telemetry = candidates(run, std::move(telemetry_near), PieceKind::telemetry, namesakes);
  if (!telemetry) return std::nullopt;
  constexpr PieceKind kResult = PieceKind::benchmark_result;
  auto results = candidates(run, pieces_near(run, kResult), kResult, namesakes);
  if (!results) return std::nullopt;
  return OneNodePieces{std::move(*telemetry), std::move(*results)};
}

// Telemetry of several nodes is a package, and never anywhere else.
std::optional<RunPieces> package(const StoredRun& run, std::vector<MultinodeLogs> logs,
                                 const Namesakes* namesakes) {
  constexpr PieceKind kResult = PieceKind::benchmark_result;
  auto results = candidates(run, pieces_near(run, kResult), kResult, namesakes);
  if (!results) return std::nullopt;
  return PackagePieces{std::move(logs), std::move(*results)};
}

}  // namespace

std::optional<StorePath> agentic_results(const StoredRun& run) {
  const Artifact artifact = artifact_of(archive_stem(last_name(run.folder.display)));
  if (artifact.kind == Artifact::Kind::agentic) return run.folder;
  const std::string name = "agentic_" + run.name;
  for (const auto& folder : {std::make_shared<const StorePath>(run.folder), run.folder.folder}) {
    if (!folder) continue;
    if (auto found = artifact_in(folder, name)) return found;
  }
  return std::nullopt;
}

std::optional<ProfileFiles> profile_files(const StorePath& place) {
  if (!is_records_name(last_name(place.path)) || !place.folder) return std::nullopt;
  std::shared_ptr<const StorePath> folder = place.folder;
  ProfileFiles files{maybe_compressed_in(folder, kProfileSummary), std::nullopt};
  const std::string_view name = last_name(folder->path);
  const bool is_outer = name == kProfileFolder || name == kDefaultProfileFolder;
  if (!is_outer && folder->folder) folder = folder->folder;
  if (folder->folder) files.captured_zone = file_in(folder->folder, std::string(kCapturedZone));
  return files;
}

FoundPieces agents_pieces_near(const StoredRun& run, PieceKind kind) {
  FoundPieces found;
  if (const auto results = agentic_results(run)) {
    const auto folder = std::make_shared<const StorePath>(*results);
    find_pieces(folder, kind, 0, found.pieces);
    const bool has_profile = kind != PieceKind::benchmark_result || !found.pieces.empty();
    if (!has_profile) find_default_profiles(folder, 0, found.pieces);
  }
  const bool is_elsewhere = found.pieces.empty() && kind == PieceKind::telemetry;
  return is_elsewhere ? pieces_near(run, kind) : found;
}

FoundPieces pieces_near(const StoredRun& run, PieceKind kind) {
  FoundPieces nearby;
  const auto look = [&](const Folder& folder, const std::string& name) {
    auto place = maybe_compressed_in(folder, name);
    if (place) nearby.pieces.push_back(std::move(*place));
    return place.has_value();
  };
  const auto look_in = [&](const Folder& folder) {
    if (kind == PieceKind::benchmark_result) return look(folder, run.name + ".json");
    return look(folder, fmt::format("gpu_metrics_{}.csv", run.name)) ||
           look(folder, "gpu_metrics.csv");
  };
  const auto own = std::make_shared<const StorePath>(run.folder);
  const Folder& above = run.folder.folder;
  const auto look_in_artifacts = [&](const std::string& name, auto&& artifact_in) {
    for (const char* artifact : {"gpu_metrics_", "power_audit_"}) {
      for (const Folder& folder : {own, above}) {
        if (!folder) continue;
        std::optional<StorePath> place = artifact_in(folder, artifact + name);
        if (place && look_in(std::make_shared<const StorePath>(std::move(*place)))) return true;
      }
    }
    return false;
  };
  const auto unpacked = [](const Folder& folder, const std::string& name) {
    const auto archive = archive_in(folder, name);
    return archive ? std::optional(inside(*archive)) : std::nullopt;
  };
  const bool has_artifact_name = run.artifact != run.name;
  nearby.is_own = look_in(own) || look_in_artifacts(run.name, folder_in) ||
                  (has_artifact_name && look_in_artifacts(run.artifact, folder_in)) ||
                  look_in_artifacts(run.name, unpacked) ||
                  (has_artifact_name && look_in_artifacts(run.artifact, unpacked));
  if (!nearby.is_own && above) look_in(above);
  return nearby;
}

std::optional<RunPieces> pieces_of_agents(const StoredRun& run, const Namesakes* namesakes) {
  if (std::vector<MultinodeLogs> logs = find_agents_logs(run); !logs.empty()) {
    Candidates results{.places = logs[0].formal_results};
    return PackagePieces{std::move(logs), std::move(results), true};
  }
  auto telemetry = candidates(run, agents_pieces_near(run, PieceKind::telemetry),
                              PieceKind::telemetry, namesakes);
  if (!telemetry) return std::nullopt;
  // A profile is only ever with its run.
  Candidates profiles{.places = agents_pieces_near(run, PieceKind::benchmark_result).pieces};
  return OneNodePieces{std::move(*telemetry), std::move(profiles), true};
}

std::optional<RunPieces> pieces_of_package(const StoredRun& run, const Namesakes* namesakes) {
  return package(run, find_multinode_logs(run), namesakes);
}

std::optional<RunPieces> pieces_of_nodes(const StoredRun& run, const Namesakes* namesakes) {
  FoundPieces telemetry = pieces_near(run, PieceKind::telemetry);
  const bool has_own_telemetry = telemetry.is_own && !telemetry.pieces.empty();
  if (!has_own_telemetry) {
    std::vector<MultinodeLogs> logs = find_multinode_logs(run);
    if (!logs.empty()) return package(run, std::move(logs), namesakes);
  }
  return one_node(run, std::move(telemetry), namesakes);
}

}  // namespace aggregate_power
