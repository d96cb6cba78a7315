// Walks folders in order.
#include "publication/run_files.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/files/path.h"

namespace aggregate_power {
namespace {

void walk_folder(const StorePath& folder, int levels, IsWantedName is_wanted,
                 std::vector<StorePath>& files) {
  std::vector<TreeEntry> entries;
  folder.tree->list(folder.path, [&](const TreeEntry& entry) { entries.push_back(entry); });
  std::ranges::sort(entries, {}, &TreeEntry::name);
  const auto shared = std::make_shared<const StorePath>(folder);
  for (const TreeEntry& entry : entries) {
    if (entry.kind == TreeEntry::Kind::folder && levels > 0) {
      walk_folder(child(shared, entry.name), levels - 1, is_wanted, files);
    } else if (entry.kind == TreeEntry::Kind::file && is_wanted(entry.name)) {
      files.push_back(child(shared, entry.name));
    }
  }
}

}  // namespace

bool is_run_record_name(std::string_view name) {
  return name.starts_with("power_validation") && name.ends_with(".json");
}

bool is_aggregate_name(std::string_view name) {
  return name.starts_with("agg_") && name.ends_with(".json");
}

std::vector<StorePath> run_files(const StorePath& folder, int levels, IsWantedName is_wanted) {
  std::vector<StorePath> files;
  walk_folder(folder, levels, is_wanted, files);
  return files;
}

std::string identity_of(const StorePath& place) {
  return place.tree->is_archive() ? place.display : file_identity(place.path);
}

}  // namespace aggregate_power
