// Finds files in folders and archives, and opens archives.
#include "store/catalogue/store_path.h"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "generators/aiperf.h"

namespace aggregate_power {
namespace {

constexpr std::array<std::string_view, 5> kArchives = {".zip", ".tar", ".tar.gz", ".tgz",
                                                       ".tar.zst"};

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
std::shared_ptr<const Tree> open_archive(const StorePath& archive) {
  constexpr std::size_t kMostOpen = 4;
  constexpr std::uint64_t kMostKeptBytes = std::uint64_t{1} << 30;
  struct Open {
    std::string display;
    FileFacts facts;
    std::shared_ptr<const Tree> tree;
  };
  static std::mutex mutex;
  static std::list<Open> recent;
  const FileFacts facts = archive.tree->find_file(archive.path).value_or(FileFacts{});
  {
    const std::lock_guard guard(mutex);
    const auto found = std::ranges::find_if(recent, [&](const Open& open) {
      return open.display == archive.display && open.facts == facts;
    });
    if (found != recent.end()) {
      recent.splice(recent.begin(), recent, found);
      return found->tree;
    }
  }
  std::shared_ptr<const Tree> tree =
      open_archive_tree(*archive.tree, archive.path, is_wanted_member);
  const std::lock_guard guard(mutex);
  recent.push_front({archive.display, facts, tree});
  const auto kept_bytes = [&] {
    return summed<std::uint64_t>(recent,
                                 [](const Open& open) { return open.tree->spooled_bytes(); });
  };
  while (recent.size() > kMostOpen || (recent.size() > 1 && kept_bytes() > kMostKeptBytes)) {
    recent.pop_back();
  }
  return tree;
}

// Not of a store, whose folder has a name of its own.
bool is_child(const StorePath& place, const StorePath& folder) {
  const std::string_view name = last_name(place.path);
  return place.tree == folder.tree && place.path == join_path(folder.path, name) &&
         place.display == join_path(folder.display, name) &&
         place.below == join_path(folder.below, name);
}

// Folders one in another, each the first one's child.
StorePath place_below(StorePath place, std::string_view path) {
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    place = child(std::make_shared<const StorePath>(std::move(place)), name);
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return place;
}

}  // namespace

KeptPlace::KeptPlace(const StorePath& place)
    : base_(place.folder), is_file_(place.facts.has_value()) {
  if (!base_ || !is_child(place, *base_)) {
    base_ = std::make_shared<const StorePath>(place);
    return;
  }
  names_ = last_name(place.path);
  while (base_->folder && is_child(*base_, *base_->folder)) {
    names_.insert(0, fmt::format("{}/", last_name(base_->path)));
    base_ = base_->folder;
  }
  names_.shrink_to_fit();
}

std::string KeptPlace::display() const {
  return names_.empty() ? base_->display : join_path(base_->display, names_);
}

StorePath KeptPlace::place() const {
  if (names_.empty()) return *base_;
  // The folders share the base.
  const std::size_t end = names_.find('/');
  StorePath place = child(base_, std::string_view(names_).substr(0, end));
  if (end != names_.npos) {
    place = place_below(std::move(place), std::string_view(names_).substr(end + 1));
  }
  if (is_file_) place.facts = place.tree->find_file(place.path);
  return place;
}

StorePath child(const Folder& folder, std::string_view name) {
  return {folder->tree, join_path(folder->path, name), join_path(folder->display, name),
          join_path(folder->below, name), folder};
}

std::optional<StorePath> disk_file(const std::string& path) {
  StorePath place{.tree = disk_tree(), .path = path, .display = path, .below = path, .folder = {}};
  place.facts = place.tree->find_file(path);
  if (!place.facts) return std::nullopt;
  return place;
}

std::optional<StorePath> file_in(const Folder& folder, const std::string& name) {
  StorePath place = child(folder, name);
  place.facts = place.tree->find_file(place.path);
  if (!place.facts) return std::nullopt;
  return place;
}

std::optional<StorePath> folder_in(const Folder& folder, const std::string& name) {
  StorePath place = child(folder, name);
  if (!place.tree->has_folder(place.path)) return std::nullopt;
  return place;
}

std::optional<StorePath> archive_in(const Folder& folder, const std::string& stem) {
  for (const std::string_view end : kArchives) {
    if (auto archive = file_in(folder, stem + std::string(end))) return archive;
  }
  return std::nullopt;
}

std::optional<StorePath> maybe_compressed_in(const Folder& folder, std::string_view name) {
  for (const std::string_view compression : kCompressions) {
    if (auto file = file_in(folder, fmt::format("{}{}", name, compression))) return file;
  }
  return std::nullopt;
}

std::optional<StorePath> artifact_in(const Folder& folder, const std::string& name) {
  if (auto found = folder_in(folder, name)) return found;
  const auto archive = archive_in(folder, name);
  return archive ? std::optional(inside(*archive)) : std::nullopt;
}

bool has_artifact(const Folder& folder, const std::string& name) {
  return folder_in(folder, name) || archive_in(folder, name);
}

bool has_below(const StorePath& folder, std::string_view path) {
  return folder.tree->has_folder(join_path(folder.path, path));
}

std::optional<StorePath> file_below(const StorePath& folder, const std::string& path) {
  StorePath place = place_below(folder, path);
  place.facts = place.tree->find_file(place.path);
  if (!place.facts) return std::nullopt;
  return place;
}

std::optional<StorePath> find_beside(const StorePath& file, const std::string& name) {
  return file.folder ? file_in(file.folder, name) : std::nullopt;
}

void for_each_below(const StorePath& folder, int levels, const IsWantedEntry& is_wanted,
                    const std::function<void(StorePath)>& take) {
  const auto shared = std::make_shared<const StorePath>(folder);
  for (const TreeEntry& entry : sorted_entries(*folder.tree, folder.path)) {
    if (entry.kind == TreeEntry::Kind::folder) {
      if (levels > 0) for_each_below(child(shared, entry.name), levels - 1, is_wanted, take);
    } else if (is_wanted(entry)) {
      take(child(shared, entry.name));
    }
  }
}

std::vector<StorePath> entries_below(const StorePath& folder, int levels,
                                     const IsWantedEntry& is_wanted) {
  std::vector<StorePath> found;
  for_each_below(folder, levels, is_wanted,
                 [&](StorePath place) { found.push_back(std::move(place)); });
  return found;
}

std::vector<StorePath> files_below(const StorePath& folder, int levels, IsWantedName is_wanted) {
  return entries_below(folder, levels, [&](const TreeEntry& entry) {
    return entry.kind == TreeEntry::Kind::file && is_wanted(entry.name);
  });
}

std::string identity_of(const StorePath& place) {
  return place.tree->is_archive() ? place.display : file_identity(place.path);
}

const StorePath& store_of(const StorePath& place) {
  const StorePath* store = &place;
  while (store->folder) store = store->folder.get();
  return *store;
}

StorePath inside(const StorePath& archive) {
  return {open_archive(archive), "", archive.display, archive.below, archive.folder};
}

std::string path_on_disk(const StorePath& place) {
  const StorePath* at = &place;
  while (at->tree->is_archive() && at->folder) at = at->folder.get();
  if (at == &place) return place.tree->is_archive() ? place.display : place.path;
  // The folder that contains the archive, or an archive that is the store.
  if (at->tree->is_archive()) return at->display;
  std::string_view rest = std::string_view(place.display).substr(at->display.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return join_path(at->path, rest.substr(0, rest.find('/')));
}

std::string store_path_text(const StorePath& place) {
  const StorePath& store = store_of(place);
  // Names contain no NUL.
  return fmt::format("{}{}{}{}{}", store.display, '\0', store.below, '\0',
                     std::string_view(place.display).substr(store.display.size()));
}

std::string display_of(std::string_view text) {
  const std::size_t store_end = text.find('\0');
  const std::size_t below_end = text.find('\0', store_end + 1);
  return std::string(text.substr(0, store_end)) + std::string(text.substr(below_end + 1));
}

StorePath store_path_of(std::string_view text, const StoreAccess& access) {
  const std::size_t store_end = text.find('\0');
  const std::size_t below_end = text.find('\0', store_end + 1);
  const std::string store(text.substr(0, store_end));
  StorePath place{bounded_tree(store, access), store, store,
                  std::string(text.substr(store_end + 1, below_end - store_end - 1)), nullptr};
  std::string_view rest = text.substr(below_end + 1);
  while (!rest.empty()) {
    if (rest[0] == '/') rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (is_archive_name(place.path) && !place.tree->has_folder(place.path)) place = inside(place);
    place = child(std::make_shared<const StorePath>(std::move(place)), name);
    rest.remove_prefix(name.size());
  }
  return place;
}

}  // namespace aggregate_power
