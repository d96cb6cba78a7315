// What lies near a run.
#include "store/pieces.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "loads/aiperf_folder.h"
#include "store/artifact_names.h"

namespace aggregate_power {
namespace {

// Deeper than any artifact; links are not followed.
constexpr int kMostLevels = 200;

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

std::vector<StorePath> agentic_pieces(const StoredRun& run, PieceKind kind) {
  std::vector<StorePath> pieces;
  if (const auto results = agentic_results(run)) {
    find_pieces(std::make_shared<const StorePath>(*results), kind, 0, pieces);
  }
  return pieces;
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
  if (last_name(folder->path) != kProfileFolder && folder->folder) folder = folder->folder;
  if (folder->folder) files.captured_zone = file_in(folder->folder, std::string(kCapturedZone));
  return files;
}

FoundPieces pieces_near(const StoredRun& run, PieceKind kind) {
  FoundPieces nearby;
  if (run.layout == Layout::agentic) {
    nearby.pieces = agentic_pieces(run, kind);
    if (!nearby.pieces.empty() || kind == PieceKind::benchmark_result) return nearby;
  }
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

}  // namespace aggregate_power
