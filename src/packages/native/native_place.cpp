// Lists the nodes and the files of a native package.
#include "packages/native/native_place.h"

#include <algorithm>
#include <string_view>

#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kNodePrefix = "node-";

std::string file_of_node(const NativePlace& place, const std::string& node, const char* name) {
  return path_below(place.power_dir, node + "/" + name);
}

// Empty if the folder cannot be listed.
std::vector<TreeEntry> entries_of(const Tree& tree, const std::string& folder) {
  try {
    if (tree.has_folder(folder)) return sorted_entries(tree, folder);
  } catch (const FileError&) {
  }
  return {};
}

bool is_folder(const TreeEntry& entry) {
  return entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
}

}  // namespace

std::vector<std::string> native_nodes(const NativePlace& place) {
  std::vector<std::string> nodes;
  for (const TreeEntry& entry : entries_of(*place.tree, place.power_dir)) {
    if (!is_folder(entry) || !entry.name.starts_with(kNodePrefix)) continue;
    if (place.tree->find_file(file_of_node(place, entry.name, "manifest.json"))) {
      nodes.push_back(entry.name);
    }
  }
  return nodes;
}

bool is_native_package(const NativePlace& place) {
  if (place.tree->find_file(path_below(place.power_dir, "manifest.json"))) return false;
  return last_name(place.power_dir) == kNativeFolder || !native_nodes(place).empty();
}

std::vector<std::string> native_files(const NativePlace& place) {
  std::vector<std::string> files;
  for (const TreeEntry& entry : entries_of(*place.tree, place.power_dir)) {
    const std::string path = path_below(place.power_dir, entry.name);
    if (!is_folder(entry)) {
      files.push_back(path);
      continue;
    }
    for (const TreeEntry& file : entries_of(*place.tree, path)) {
      if (!is_folder(file)) files.push_back(path_below(path, file.name));
    }
  }
  return files;
}

}  // namespace aggregate_power
