// Walks a store and recognizes runs and pieces.
#include "store/catalogue/walk.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/interruption.h"
#include "packages/native/node.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
namespace {

FolderMarks marks_of(const StorePath& folder, const Artifact& artifact) {
  if (artifact.kind != Artifact::Kind::power_audit) return {artifact};
  const bool has_power = has_below(folder, "LOGS/power");
  const bool has_package = has_power || has_below(folder, "LOGS/native_power");
  const bool has_agents_beside = has_power && folder.folder &&
                                 (has_artifact(folder.folder, "agentic_" + artifact.run) ||
                                  has_artifact(folder.folder, "bmk_agentic_" + artifact.run));
  return {artifact, has_package, has_below(folder, "LOGS/agentic") || has_agents_beside};
}

// Whether the walk continues from a folder into the folder with that name in it.
bool goes_into(const FolderMarks& folder, std::string_view name) {
  if (folder.artifact.kind == Artifact::Kind::no_run || is_agents_folder(folder)) return false;
  // The recordings of a native package are not those of runs on one node.
  if (name == kNativeFolder) return false;
  return !(folder.has_package || folder.has_agents) || name != "LOGS";
}

class Walk {
 public:
  // `artifact`: of the archive that contains everything. `route`: empty, or the only way to go.
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
      visitor_.fault(*folder, fmt::format("is nested more than {} folders deep", kMostLevels));
      return;
    }
    try {
      visit(folder, artifact, level);
    } catch (const FileError& error) {
      visitor_.fault(*folder, error.what());
    }
  }

 private:
  // All entries of a folder; on a route only the next one.
  void list(const StorePath& folder, const std::function<void(const TreeEntry&)>& take) {
    if (!is_on_route_) return folder.tree->list(folder.path, take);
    const std::string name(route_.substr(0, route_.find('/')));
    if (const auto entry = entry_in(folder, name)) take(*entry);
  }

  static std::optional<TreeEntry> entry_in(const StorePath& folder, const std::string& name) {
    const auto place = child(std::make_shared<const StorePath>(folder), name);
    if (folder.tree->find_file(place.path)) return TreeEntry{name, TreeEntry::Kind::file};
    if (!folder.tree->way_out(place.path).empty()) {
      return TreeEntry{name, TreeEntry::Kind::link_out};
    }
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
    const FolderMarks marks = marks_of(*folder, artifact);
    if (is_agents_folder(marks)) return visit_agents(folder, marks);
    bool has_aggregate = false;
    bool has_agentic = false;
    list(*folder, [&](const TreeEntry& entry) {
      throw_if_interrupted();
      has_agentic |= entry.name.starts_with("agentic_");
      switch (entry.kind) {
        case TreeEntry::Kind::file:
          visit_temporary(folder, entry.name);
          has_aggregate |= visit_file(folder, marks, entry.name);
          break;
        case TreeEntry::Kind::folder:
          if (goes_into(marks, entry.name)) go_down(folder, entry.name, level);
          break;
        case TreeEntry::Kind::folder_link:
          visitor_.folder_link();
          break;
        case TreeEntry::Kind::link_out:
          has_aggregate |= visit_link_out(folder, marks, entry.name);
          break;
        case TreeEntry::Kind::other:
          break;
      }
    });
    if ((has_agentic || is_on_route_) && !marks.has_agents) visit_beside_agentic(folder);
    if (!has_aggregate) visit_without_aggregate(folder, marks);
  }

  // The artifacts of an agentic run, or of its loads, may each contain aggregates.
  void visit_agents(const Folder& folder, const FolderMarks& marks) {
    bool has_aggregate = false;
    list(*folder, [&](const TreeEntry& entry) {
      const bool is_file = entry.kind == TreeEntry::Kind::file;
      const bool is_link_out = entry.kind == TreeEntry::Kind::link_out;
      if (is_file) visit_temporary(folder, entry.name);
      has_aggregate |= (is_file || is_link_out) && visit_aggregate(folder, marks, entry.name);
    });
    if (!has_aggregate) visit_without_aggregate(folder, marks);
  }

  void visit_without_aggregate(const Folder& folder, const FolderMarks& marks) {
    const auto layout = layout_without_aggregate(marks);
    const std::string& run = marks.artifact.run;
    if (layout) visitor_.run({run, key(run), *layout, *folder, StorePath{}});
  }

  // An aggregate may also be beside the results. The folder is listed again, so that no names are
  // kept.
  void visit_beside_agentic(const Folder& folder) {
    list(*folder, [&](const TreeEntry& entry) {
      if (entry.kind != TreeEntry::Kind::file || !entry.name.ends_with(".json")) return;
      const std::string stem = path_stem(entry.name);
      for (const std::string& run : {stem, stem.substr(0, stem.rfind("_conc"))}) {
        if (!agentic_concurrency(run, entry.name) || !has_artifact(folder, "agentic_" + run)) {
          continue;
        }
        visit_aggregate(folder, {{Artifact::Kind::agentic, run}}, entry.name);
        return;
      }
    });
  }

  // Returns true for an aggregate.
  bool visit_aggregate(const Folder& folder, const FolderMarks& marks, const std::string& name) {
    const auto run = run_of_aggregate(marks, name);
    if (!run) return false;
    const std::string& artifact = marks.artifact.run.empty() ? run->name : marks.artifact.run;
    visitor_.run({run->name, key(artifact), run->layout, *folder, child(folder, name)});
    return true;
  }

  // Returns true for an aggregate.
  bool visit_file(const Folder& folder, const FolderMarks& marks, const std::string& name) {
    if (visit_aggregate(folder, marks, name)) return true;
    const StorePath place = child(folder, name);
    if (visitor_.recording && is_recording_name(name)) visitor_.recording(place);
    if (is_archive_name(name)) {
      visit_archive(place, name);
    } else if (marks.artifact.kind == Artifact::Kind::gpu_metrics && is_telemetry_name(name)) {
      visitor_.piece(PieceKind::telemetry, marks.artifact.run, place);
    } else if (can_be_result(name)) {
      visitor_.piece(PieceKind::benchmark_result, plain_stem(name), place);
    }
    return false;
  }

  // Returns true for an aggregate.
  bool visit_link_out(const Folder& folder, const FolderMarks& marks, const std::string& name) {
    if (visit_aggregate(folder, marks, name)) return true;
    if (visitor_.link_out) visitor_.link_out(child(folder, name));
    return false;
  }

  void visit_temporary(const Folder& folder, const std::string& name) {
    if (!folder->tree->is_archive() && is_temporary_name(name)) {
      visitor_.temporary(child(folder, name));
    }
  }

  void visit_archive(const StorePath& archive, const std::string& name) {
    const Artifact artifact = artifact_of(archive_stem(name));
    if (artifact.kind == Artifact::Kind::no_run) return;
    visitor_.archive(archive, key(artifact.run));
  }

  std::string key(const std::string& run) const { return artifact_.empty() ? run : artifact_; }

  const StoreVisitor& visitor_;
  std::string artifact_;
  bool is_on_route_;
  std::string_view route_;  // the part that is left
};

// Whether an archive contains only results, which the aggregate beside it leads to.
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

std::optional<StorePath> find_store(const std::string& path, std::string below,
                                    const StoreAccess& access) {
  StorePath place{bounded_tree(path, access), path, path, std::move(below), nullptr};
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
    if (!goes_into(marks_of(*folder, artifact), name)) return false;
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
