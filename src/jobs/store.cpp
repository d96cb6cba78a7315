// An artifact store to runs.
#include "aggregate_power/jobs/store.h"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/file.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/jobs/artifact_names.h"

namespace aggregate_power {
namespace {

// Each level keeps one folder open.
constexpr int kMostLevels = 200;
constexpr std::array<std::string_view, 5> kArchives = {".zip", ".tar", ".tar.gz", ".tgz",
                                                       ".tar.zst"};

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string join(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

Place child(const std::shared_ptr<const Place>& folder, std::string_view name) {
  return {folder->tree, join(folder->path, name), join(folder->shown, name),
          join(folder->below, name), folder};
}

std::optional<Place> file_in(const std::shared_ptr<const Place>& folder, const std::string& name) {
  Place place = child(folder, name);
  place.facts = place.tree->find_file(place.path);
  if (!place.facts) return std::nullopt;
  return place;
}

bool is_wanted_member(std::string_view name) {
  if (is_archive_name(name)) return true;
  return std::ranges::any_of(kCompressions, [&](std::string_view compression) {
    if (!name.ends_with(compression)) return false;
    const std::string_view plain = name.substr(0, name.size() - compression.size());
    return plain.ends_with(".json") || plain.ends_with(".csv") || plain.ends_with(".txt") ||
           plain == kProfileRecords || plain.ends_with(fmt::format("/{}", kProfileRecords));
  });
}

// The archives opened last: the pieces of a run and of its neighbours are often in the same few.
std::shared_ptr<const Tree> open_archive(const Place& archive) {
  constexpr std::size_t kMostOpen = 4;
  struct Open {
    std::string shown;
    FileFacts facts;
    std::shared_ptr<const Tree> tree;
  };
  static std::mutex mutex;
  static std::list<Open> recent;
  const FileFacts facts = archive.tree->find_file(archive.path).value_or(FileFacts{});
  {
    const std::lock_guard guard(mutex);
    const auto found = std::ranges::find_if(recent, [&](const Open& open) {
      return open.shown == archive.shown && open.facts == facts;
    });
    if (found != recent.end()) {
      recent.splice(recent.begin(), recent, found);
      return found->tree;
    }
  }
  std::shared_ptr<const Tree> tree =
      open_archive_tree(*archive.tree, archive.path, is_wanted_member);
  const std::lock_guard guard(mutex);
  recent.push_front({archive.shown, facts, tree});
  if (recent.size() > kMostOpen) recent.pop_back();
  return tree;
}

// An archive as the folder that it stands for.
Place inside(const Place& archive) {
  return {open_archive(archive), "", archive.shown, archive.below, archive.folder};
}

std::optional<Place> folder_in(const std::shared_ptr<const Place>& folder,
                               const std::string& name) {
  Place place = child(folder, name);
  if (!place.tree->has_folder(place.path)) return std::nullopt;
  return place;
}

// The archive of that name, with what makes it one behind it.
std::optional<Place> archive_in(const std::shared_ptr<const Place>& folder,
                                const std::string& name) {
  for (const std::string_view end : kArchives) {
    if (auto archive = file_in(folder, name + std::string(end))) return archive;
  }
  return std::nullopt;
}

bool has_artifact(const std::shared_ptr<const Place>& folder, const std::string& name) {
  return folder_in(folder, name) || archive_in(folder, name);
}

// A plain file goes before a compressed one of its name.
std::optional<Place> maybe_compressed_in(const std::shared_ptr<const Place>& folder,
                                         std::string_view name) {
  for (const std::string_view compression : kCompressions) {
    if (auto file = file_in(folder, fmt::format("{}{}", name, compression))) return file;
  }
  return std::nullopt;
}

bool has_below(const Place& folder, std::string_view path) {
  return folder.tree->has_folder(join(folder.path, path));
}

// ---- The walk

class Walk {
 public:
  // `artifact`: of the archive that all of it lies in.
  Walk(const StoreVisitor& visitor, std::string artifact)
      : visitor_(visitor), artifact_(std::move(artifact)) {}

  void visit(Place place, std::string_view name, int level) {
    const auto folder = std::make_shared<const Place>(std::move(place));
    const Artifact artifact = artifact_of(name);
    if (artifact.kind == Artifact::Kind::no_run) return;
    if (level > kMostLevels) {
      visitor_.fault(*folder, fmt::format("is below {} folders", kMostLevels));
      return;
    }
    try {
      visit(folder, artifact, level);
    } catch (const FileError& error) {
      visitor_.fault(*folder, error.what());
    }
  }

 private:
  using Kind = Artifact::Kind;

  void visit(const std::shared_ptr<const Place>& folder, const Artifact& artifact, int level) {
    if (artifact.kind == Kind::agentic || artifact.kind == Kind::bmk_agentic) {
      return visit_agentic(folder, artifact);
    }
    const bool is_audit = artifact.kind == Kind::power_audit;
    const bool is_package = is_audit && has_below(*folder, "LOGS/power");
    const bool is_agentic = is_audit && has_below(*folder, "LOGS/agentic");
    bool has_aggregate = false;
    folder->tree->list(folder->path, [&](const TreeEntry& entry) {
      switch (entry.kind) {
        case TreeEntry::Kind::file:
          has_aggregate |= (is_agentic && visit_agentic_file(folder, artifact, entry.name)) ||
                           visit_file(folder, artifact, is_package, entry.name);
          break;
        case TreeEntry::Kind::folder:
          if (!(is_package || is_agentic) || entry.name != "LOGS") {
            visit(child(folder, entry.name), entry.name, level + 1);
          }
          break;
        case TreeEntry::Kind::folder_link:
          visitor_.folder_link();
          break;
        case TreeEntry::Kind::other:
          break;
      }
    });
    if (is_audit && !has_aggregate) {
      visitor_.run({artifact.run, key(artifact.run),
                    is_package ? Layout::multinode : Layout::power_audit, *folder, Place{}});
    }
  }

  // One line for all artifacts of an agentic run, or of a load of it. Its aggregate has an artifact
  // of its own, or lies in its results or beside them.
  void visit_agentic(const std::shared_ptr<const Place>& folder, const Artifact& artifact) {
    const bool has_neighbours = artifact.kind == Kind::agentic && folder->folder;
    if (has_neighbours && has_artifact(folder->folder, "bmk_agentic_" + artifact.run)) return;
    bool has_aggregate = false;
    folder->tree->list(folder->path, [&](const TreeEntry& entry) {
      const bool is_file = entry.kind == TreeEntry::Kind::file;
      has_aggregate |= is_file && visit_agentic_file(folder, artifact, entry.name);
    });
    if (has_aggregate) return;
    const std::string name = artifact.run + ".json";
    if (has_neighbours && file_in(folder->folder, name)) {
      visit_agentic_file(folder->folder, artifact, name);
      return;
    }
    // Which speaks for both.
    if (has_neighbours && has_artifact(folder->folder, "power_audit_" + artifact.run)) return;
    visitor_.run({artifact.run, key(artifact.run), Layout::agentic, *folder, Place{}});
  }

  // True for an aggregate.
  bool visit_agentic_file(const std::shared_ptr<const Place>& folder, const Artifact& artifact,
                          const std::string& name) {
    if (!agentic_concurrency(artifact.run, name)) return false;
    visitor_.run(
        {path_stem(name), key(artifact.run), Layout::agentic, *folder, child(folder, name)});
    return true;
  }

  // True for an aggregate.
  bool visit_file(const std::shared_ptr<const Place>& folder, const Artifact& artifact,
                  bool is_package, const std::string& name) {
    Place place = child(folder, name);
    if (name.starts_with("agg_") && name.ends_with(".json")) {
      const std::string run = path_stem(name).substr(4);
      const Layout layout = is_package || gpus_in_name(run)      ? Layout::multinode
                            : artifact.kind == Kind::power_audit ? Layout::power_audit
                            : artifact.kind == Kind::bmk         ? Layout::bmk
                                                                 : Layout::folder;
      visitor_.run(
          {run, key(artifact.run.empty() ? run : artifact.run), layout, *folder, std::move(place)});
      return true;
    }
    if (is_archive_name(name)) {
      visit_archive(place, folder, name);
    } else if (artifact.kind == Kind::gpu_metrics && is_telemetry_name(name)) {
      visitor_.piece(PieceKind::telemetry, artifact.run, place);
    } else if (can_be_result(name)) {
      visitor_.piece(PieceKind::benchmark_result, plain_stem(name), place);
    }
    return false;
  }

  void visit_archive(const Place& archive, const std::shared_ptr<const Place>& folder,
                     const std::string& name) {
    const Artifact artifact = artifact_of(archive_stem(name));
    if (artifact.kind == Kind::no_run) return;
    // Not opened for what its aggregate will lead to.
    if (artifact.kind == Kind::agentic && has_artifact(folder, "bmk_agentic_" + artifact.run)) {
      return;
    }
    visitor_.archive(archive, key(artifact.run));
  }

  std::string key(const std::string& run) const { return artifact_.empty() ? run : artifact_; }

  const StoreVisitor& visitor_;
  std::string artifact_;
};

// ---- The results of an agentic run, of which it is not known how deep they lie in their artifact

std::vector<std::string> folders_in(const Place& folder) {
  std::vector<std::string> names;
  folder.tree->list(folder.path, [&](const TreeEntry& entry) {
    if (entry.kind == TreeEntry::Kind::folder) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  return names;
}

void find_pieces(const std::shared_ptr<const Place>& folder, PieceKind kind, int level,
                 std::vector<Place>& pieces) {
  if (level > kMostLevels) return;
  const bool is_profile = last_name(folder->path) == kProfileFolder;
  if (is_profile && kind == PieceKind::benchmark_result) {
    const auto records = find_records(*folder->tree, folder->path);
    if (records) pieces.push_back(*file_below(*folder, *records));
  }
  if (is_profile) return;
  if (kind == PieceKind::telemetry) {
    if (auto csv = maybe_compressed_in(folder, "gpu_metrics.csv"))
      pieces.push_back(std::move(*csv));
  }
  for (const std::string& name : folders_in(*folder)) {
    find_pieces(std::make_shared<const Place>(child(folder, name)), kind, level + 1, pieces);
  }
}

// ---- What runs of several nodes leave

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
  const auto in = [&](const std::shared_ptr<const Place>& folder) {
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
      for (const std::shared_ptr<const Place>& folder : {own, run.folder.folder}) {
        if (!folder) continue;
        auto artifact = folder_in(folder, fmt::format("{}{}", kind, name));
        if (!artifact) {
          const auto archive = archive_in(folder, fmt::format("{}{}", kind, name));
          if (archive) artifact = inside(*archive);
        }
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

// In conc_N where the run is a load of that concurrency, else in LOGS/agentic itself. The only one
// there must be of that load.
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

std::vector<Place> agentic_pieces(const StoredRun& run, PieceKind kind) {
  std::vector<Place> pieces;
  if (const auto results = agentic_results(run)) {
    find_pieces(std::make_shared<const Place>(*results), kind, 0, pieces);
  }
  return pieces;
}

}  // namespace

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::power_audit:
      return "power_audit";
    case Layout::bmk:
      return "bmk";
    case Layout::folder:
      return "folder";
    case Layout::multinode:
      return "multinode";
    case Layout::agentic:
      return "agentic";
  }
  return {};
}

std::optional<Place> find_store(const std::string& path, std::string below) {
  Place place{disk_tree(), path, path, std::move(below), nullptr};
  const bool is_archive = is_archive_name(path) && place.tree->find_file(path);
  if (!is_archive && !place.tree->has_folder(path)) return std::nullopt;
  return place;
}

void walk_store(const Place& store, const StoreVisitor& visitor) {
  if (store.tree->has_folder(store.path)) {
    Walk(visitor, {}).visit(store, last_name(store.path), 0);
  } else {
    visitor.archive(store, artifact_of(archive_stem(last_name(store.path))).run);
  }
}

void walk_archive(const Place& archive, const std::string& artifact, const StoreVisitor& visitor) {
  Walk(visitor, artifact).visit(inside(archive), archive_stem(last_name(archive.path)), 0);
}

std::optional<Place> agentic_results(const StoredRun& run) {
  const Artifact artifact = artifact_of(archive_stem(last_name(run.folder.shown)));
  if (artifact.kind == Artifact::Kind::agentic) return run.folder;
  const std::string name = "agentic_" + run.name;
  for (const auto& folder : {std::make_shared<const Place>(run.folder), run.folder.folder}) {
    if (!folder) continue;
    if (auto found = folder_in(folder, name)) return found;
    if (const auto archive = archive_in(folder, name)) return inside(*archive);
  }
  return std::nullopt;
}

std::optional<Place> agentic_logs(const StoredRun& run) {
  constexpr std::string_view kKinds[] = {"power_audit_", "agentic_"};
  constexpr std::string_view kFolders[] = {"agentic", "power"};
  auto logs = find_logs(run, kKinds, kFolders);
  return logs ? std::move(logs) : find_logs(run, kKinds, std::span(kFolders).first(1));
}

std::optional<ProfileFiles> profile_files(const Place& place) {
  if (!is_records_name(last_name(place.path)) || !place.folder) return std::nullopt;
  std::shared_ptr<const Place> folder = place.folder;
  ProfileFiles files{maybe_compressed_in(folder, kProfileSummary), std::nullopt};
  if (last_name(folder->path) != kProfileFolder && folder->folder) folder = folder->folder;
  if (folder->folder) files.captured_zone = file_in(folder->folder, std::string(kCapturedZone));
  return files;
}

Nearby nearby_pieces(const StoredRun& run, PieceKind kind) {
  Nearby nearby;
  if (run.layout == Layout::agentic) {
    if (const auto logs = agentic_logs(run)) {
      if (kind == PieceKind::benchmark_result) nearby.pieces = formal_results_of(run, *logs);
      return nearby;
    }
    nearby.pieces = agentic_pieces(run, kind);
    if (!nearby.pieces.empty() || kind == PieceKind::benchmark_result) return nearby;
  }
  const auto look = [&](const std::shared_ptr<const Place>& folder, const std::string& name) {
    auto place = maybe_compressed_in(folder, name);
    if (place) nearby.pieces.push_back(std::move(*place));
    return place.has_value();
  };
  const auto look_in = [&](const std::shared_ptr<const Place>& folder) {
    if (kind == PieceKind::benchmark_result) return look(folder, run.name + ".json");
    return look(folder, fmt::format("gpu_metrics_{}.csv", run.name)) ||
           look(folder, "gpu_metrics.csv");
  };
  const auto own = std::make_shared<const Place>(run.folder);
  const std::shared_ptr<const Place>& above = run.folder.folder;
  const auto look_in_artifacts = [&](const std::string& name, auto&& artifact_in) {
    for (const char* artifact : {"gpu_metrics_", "power_audit_"}) {
      for (const std::shared_ptr<const Place>& folder : {own, above}) {
        if (!folder) continue;
        std::optional<Place> place = artifact_in(folder, artifact + name);
        if (place && look_in(std::make_shared<const Place>(std::move(*place)))) return true;
      }
    }
    return false;
  };
  const auto unpacked = [](const std::shared_ptr<const Place>& folder, const std::string& name) {
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

std::optional<PackageFolders> find_package(const StoredRun& run) {
  constexpr std::string_view kKinds[] = {"power_audit_"};
  constexpr std::string_view kFolders[] = {"power"};
  auto logs = run.layout == Layout::agentic ? agentic_logs(run) : find_logs(run, kKinds, kFolders);
  if (!logs) return std::nullopt;
  auto power = folder_in(std::make_shared<const Place>(*logs), "power");
  if (!power) return std::nullopt;
  return PackageFolders{std::move(*power), std::move(*logs)};
}

std::optional<Place> file_below(const Place& folder, const std::string& path) {
  Place place = folder;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    place = child(std::make_shared<const Place>(std::move(place)), name);
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  place.facts = place.tree->find_file(place.path);
  if (!place.facts) return std::nullopt;
  return place;
}

std::string path_on_disk(const Place& place) {
  const Place* at = &place;
  while (at->tree->is_archive() && at->folder) at = at->folder.get();
  if (at == &place) return place.tree->is_archive() ? place.shown : place.path;
  // The folder that holds the archive, or an archive that is the store.
  if (at->tree->is_archive()) return at->shown;
  std::string_view rest = std::string_view(place.shown).substr(at->shown.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return join(at->path, rest.substr(0, rest.find('/')));
}

std::optional<Place> find_beside(const Place& file, const std::string& name) {
  return file.folder ? file_in(file.folder, name) : std::nullopt;
}

std::string place_text(const Place& place) {
  const Place* store = &place;
  while (store->folder) store = store->folder.get();
  // No name holds a NUL.
  return fmt::format("{}{}{}{}{}", store->shown, '\0', store->below, '\0',
                     std::string_view(place.shown).substr(store->shown.size()));
}

std::string shown_of(std::string_view text) {
  const std::size_t store_end = text.find('\0');
  const std::size_t below_end = text.find('\0', store_end + 1);
  return std::string(text.substr(0, store_end)) + std::string(text.substr(below_end + 1));
}

Place place_of(std::string_view text) {
  const std::size_t store_end = text.find('\0');
  const std::size_t below_end = text.find('\0', store_end + 1);
  const std::string store(text.substr(0, store_end));
  Place place{disk_tree(), store, store,
              std::string(text.substr(store_end + 1, below_end - store_end - 1)), nullptr};
  std::string_view rest = text.substr(below_end + 1);
  while (!rest.empty()) {
    if (rest[0] == '/') rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (is_archive_name(place.path) && !place.tree->has_folder(place.path)) place = inside(place);
    place = child(std::make_shared<const Place>(std::move(place)), name);
    rest.remove_prefix(name.size());
  }
  return place;
}

}  // namespace aggregate_power
