// The names in an archive as a tree of folders.
#include "base/files/archive_index.h"

#include <algorithm>

namespace aggregate_power {
namespace {

// The prefix of every key in the folder.
std::string beginning(const std::string& folder) { return folder.empty() ? "" : folder + '/'; }

}  // namespace

std::optional<std::string> member_path(std::string_view name) {
  if (name.starts_with('/')) return std::nullopt;
  std::string path;
  while (!name.empty()) {
    const std::string_view component = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(component.size() + 1, name.size()));
    if (component == "..") return std::nullopt;
    if (component.empty() || component == ".") continue;
    if (!path.empty()) path += '/';
    path += component;
  }
  return path;
}

bool ArchiveIndex::add_file(const std::string& path, Extent extent) {
  return entries_.try_emplace(path, extent).second;
}

void ArchiveIndex::add_folder(const std::string& path) {
  if (!path.empty()) entries_.try_emplace(path + '/');
}

std::optional<std::string> ArchiveIndex::find_clash() const {
  for (const auto& [key, extent] : entries_) {
    if (!key.ends_with('/') && has_folder(key)) return key;
  }
  return std::nullopt;
}

std::optional<Extent> ArchiveIndex::find_file(const std::string& path) const {
  if (path.ends_with('/')) return std::nullopt;
  const auto found = entries_.find(path);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

bool ArchiveIndex::has_folder(const std::string& path) const {
  if (path.empty()) return true;
  const auto below = entries_.lower_bound(path + '/');
  return below != entries_.end() && below->first.starts_with(path + '/');
}

void ArchiveIndex::list(const std::string& folder,
                        const std::function<void(std::string_view, bool)>& entry) const {
  const std::string above = beginning(folder);
  auto at = entries_.lower_bound(above);
  while (at != entries_.end() && at->first.starts_with(above)) {
    const std::string_view rest = std::string_view(at->first).substr(above.size());
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (!name.empty()) entry(name, name.size() < rest.size());  // empty: the folder itself
    if (name.size() == rest.size() || name.empty()) {
      ++at;
    } else {
      // Skips everything in it: the character after '/'.
      at = entries_.lower_bound(above + std::string(name) + static_cast<char>('/' + 1));
    }
  }
}

}  // namespace aggregate_power
