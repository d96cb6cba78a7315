// An artifact store to runs.
#include "store/store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/interruption.h"
#include "store/artifact_names.h"

namespace aggregate_power {
namespace {

// Each level keeps one folder open.
constexpr int kMostLevels = 200;

// Of a folder power_audit_NAME: whose LOGS it has.
struct Audit {
  bool is_package = false;
  bool is_agentic = false;
};

Audit audit_of(const StorePath& folder, const Artifact& artifact) {
  if (artifact.kind != Artifact::Kind::power_audit) return {};
  const bool is_package = has_below(folder, "LOGS/power");
  const bool has_agents_beside = is_package && folder.folder &&
                                 (has_artifact(folder.folder, "agentic_" + artifact.run) ||
                                  has_artifact(folder.folder, "bmk_agentic_" + artifact.run));
  return {is_package, has_below(folder, "LOGS/agentic") || has_agents_beside};
}

// Whether the walk goes from a folder into the one of that name in it.
bool goes_into(const Artifact& folder, const Audit& audit, std::string_view name) {
  using Kind = Artifact::Kind;
  if (folder.kind == Kind::no_run || folder.kind == Kind::agentic ||
      folder.kind == Kind::bmk_agentic) {
    return false;
  }
  return !(audit.is_package || audit.is_agentic) || name != "LOGS";
}

class Walk {
 public:
  // `artifact`: of the archive that all of it lies in. `route`: empty, or the only way to go.
  Walk(const StoreVisitor& visitor, std::string artifact, std::string_view route)
      : visitor_(visitor),
        artifact_(std::move(artifact)),
        is_on_route_(!route.empty()),
        route_(route) {}

  void visit(StorePath place, std::string_view name, int level) {
    const auto folder = std::make_shared<const StorePath>(std::move(place));
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

  // All entries of a folder; on a route the next one alone.
  void list(const StorePath& folder, const std::function<void(const TreeEntry&)>& take) {
    if (!is_on_route_) return folder.tree->list(folder.path, take);
    const std::string name(route_.substr(0, route_.find('/')));
    if (const auto entry = entry_in(folder, name)) take(*entry);
  }

  static std::optional<TreeEntry> entry_in(const StorePath& folder, const std::string& name) {
    const auto place = child(std::make_shared<const StorePath>(folder), name);
    if (folder.tree->find_file(place.path)) return TreeEntry{name, TreeEntry::Kind::file};
    if (name.empty() || !folder.tree->has_folder(place.path)) return std::nullopt;
    const bool is_link = folder.tree->is_link(place.path);
    return TreeEntry{name, is_link ? TreeEntry::Kind::folder_link : TreeEntry::Kind::folder};
  }

  void go_down(const Folder& folder, const std::string& name, int level) {
    const std::string_view here = route_;
    route_.remove_prefix(std::min(name.size() + 1, route_.size()));
    visit(child(folder, name), name, level + 1);
    route_ = here;
  }

  void visit(const Folder& folder, const Artifact& artifact, int level) {
    if (artifact.kind == Kind::agentic || artifact.kind == Kind::bmk_agentic) {
      return visit_agentic(folder, artifact);
    }
    const Audit audit = audit_of(*folder, artifact);
    const bool is_package = audit.is_package;
    const bool is_agentic = audit.is_agentic;
    bool has_aggregate = false;
    bool has_agentic = false;
    list(*folder, [&](const TreeEntry& entry) {
      throw_if_interrupted();
      has_agentic |= entry.name.starts_with("agentic_");
      switch (entry.kind) {
        case TreeEntry::Kind::file:
          visit_temporary(folder, entry.name);
          has_aggregate |= (is_agentic && visit_agentic_file(folder, artifact, entry.name)) ||
                           visit_file(folder, artifact, is_package, entry.name);
          break;
        case TreeEntry::Kind::folder:
          if (goes_into(artifact, audit, entry.name)) {
            go_down(folder, entry.name, level);
          }
          break;
        case TreeEntry::Kind::folder_link:
          visitor_.folder_link();
          break;
        case TreeEntry::Kind::other:
          break;
      }
    });
    if ((has_agentic || is_on_route_) && !is_agentic) visit_beside_agentic(folder);
    if (artifact.kind == Kind::power_audit && !has_aggregate) {
      visitor_.run({artifact.run, key(artifact.run),
                    is_package ? Layout::multinode : Layout::power_audit, *folder, StorePath{}});
    }
  }

  // The artifacts of an agentic run, or of its loads, may each hold aggregates.
  void visit_agentic(const Folder& folder, const Artifact& artifact) {
    bool has_aggregate = false;
    list(*folder, [&](const TreeEntry& entry) {
      const bool is_file = entry.kind == TreeEntry::Kind::file;
      if (is_file) visit_temporary(folder, entry.name);
      has_aggregate |= is_file && visit_agentic_file(folder, artifact, entry.name);
    });
    if (has_aggregate) return;
    visitor_.run({artifact.run, key(artifact.run), Layout::agentic, *folder, StorePath{}});
  }

  // An aggregate may lie beside the results too. Listed once more, so that no names are kept.
  void visit_beside_agentic(const Folder& folder) {
    list(*folder, [&](const TreeEntry& entry) {
      if (entry.kind != TreeEntry::Kind::file || !entry.name.ends_with(".json")) return;
      const std::string stem = path_stem(entry.name);
      for (const std::string& run : {stem, stem.substr(0, stem.rfind("_conc"))}) {
        if (!agentic_concurrency(run, entry.name) || !has_artifact(folder, "agentic_" + run)) {
          continue;
        }
        visit_agentic_file(folder, {Kind::agentic, run}, entry.name);
        return;
      }
    });
  }

  // True for an aggregate.
  bool visit_agentic_file(const Folder& folder, const Artifact& artifact, const std::string& name) {
    if (!agentic_concurrency(artifact.run, name)) return false;
    visitor_.run(
        {path_stem(name), key(artifact.run), Layout::agentic, *folder, child(folder, name)});
    return true;
  }

  // True for an aggregate.
  bool visit_file(const Folder& folder, const Artifact& artifact, bool is_package,
                  const std::string& name) {
    StorePath place = child(folder, name);
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
    if (visitor_.recording && is_recording_name(name)) visitor_.recording(place);
    if (is_archive_name(name)) {
      visit_archive(place, name);
    } else if (artifact.kind == Kind::gpu_metrics && is_telemetry_name(name)) {
      visitor_.piece(PieceKind::telemetry, artifact.run, place);
    } else if (can_be_result(name)) {
      visitor_.piece(PieceKind::benchmark_result, plain_stem(name), place);
    }
    return false;
  }

  void visit_temporary(const Folder& folder, const std::string& name) {
    if (!folder->tree->is_archive() && is_temporary_name(name)) {
      visitor_.temporary(child(folder, name));
    }
  }

  void visit_archive(const StorePath& archive, const std::string& name) {
    const Artifact artifact = artifact_of(archive_stem(name));
    if (artifact.kind == Kind::no_run) return;
    visitor_.archive(archive, key(artifact.run));
  }

  std::string key(const std::string& run) const { return artifact_.empty() ? run : artifact_; }

  const StoreVisitor& visitor_;
  std::string artifact_;
  bool is_on_route_;
  std::string_view route_;  // what is left of it
};

// Not unpacked for what the aggregate beside it leads to.
bool only_has_results(const StorePath& archive, const Artifact& artifact) {
  if (artifact.kind != Artifact::Kind::agentic || !archive.folder ||
      !has_artifact(archive.folder, "bmk_agentic_" + artifact.run)) {
    return false;
  }
  const auto is_aggregate = [&](std::string_view path) {
    return agentic_concurrency(artifact.run, path).has_value();
  };
  bool has_aggregate = false;
  open_archive_tree(*archive.tree, archive.path, is_aggregate)
      ->list("",
             [&](const TreeEntry& entry) { has_aggregate |= entry.kind == TreeEntry::Kind::file; });
  return !has_aggregate;
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

std::optional<StorePath> find_store(const std::string& path, std::string below) {
  StorePath place{disk_tree(), path, path, std::move(below), nullptr};
  const bool is_archive = is_archive_name(path) && place.tree->find_file(path);
  if (!is_archive && !place.tree->has_folder(path)) return std::nullopt;
  return place;
}

void walk_store(const StorePath& store, const StoreVisitor& visitor, std::string_view route) {
  if (store.tree->has_folder(store.path)) {
    Walk(visitor, {}, route).visit(store, last_name(store.path), 0);
  } else {
    visitor.archive(store, artifact_of(archive_stem(last_name(store.path))).run);
  }
}

bool walk_meets(const StorePath& store, std::string_view below) {
  auto folder = std::make_shared<const StorePath>(store);
  while (!below.empty()) {
    const std::string_view name = below.substr(0, below.find('/'));
    const Artifact artifact = artifact_of(last_name(folder->path));
    if (!goes_into(artifact, audit_of(*folder, artifact), name)) return false;
    folder = std::make_shared<const StorePath>(child(folder, name));
    below.remove_prefix(std::min(name.size() + 1, below.size()));
  }
  return true;
}

void walk_archive(const StorePath& archive, const std::string& artifact,
                  const StoreVisitor& visitor, std::string_view route) {
  const std::string_view name = archive_stem(last_name(archive.path));
  if (only_has_results(archive, artifact_of(name))) return;
  Walk(visitor, artifact, route).visit(inside(archive), name, 0);
}

}  // namespace aggregate_power
