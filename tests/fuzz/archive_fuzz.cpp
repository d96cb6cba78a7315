// Any bytes as an archive, or as a compressed file. What is in it must have names that stay in it,
// and must be readable to its end.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/tree.h"
#include "fuzz/fuzz_util.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

constexpr const char* kNames[] = {"a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.zst"};

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

void read_to_its_end(const Tree& tree, const std::string& path) {
  const auto facts = tree.find_file(path);
  require(facts.has_value());
  const OpenedFile file = tree.open(path);
  require(file.size() == facts->bytes);
  std::uint64_t bytes = 0;
  const auto source = file.source();
  char buffer[4096];
  while (const std::size_t count = source->read(buffer)) bytes += count;
  require(bytes == facts->bytes);
}

// Returns how many entries there are.
int walk(const Tree& tree, const std::string& folder, int levels) {
  int entries = 0;
  tree.list(folder, [&](const TreeEntry& entry) {
    require(!entry.name.empty() && entry.name != "." && entry.name != "..");
    require(entry.name.find('/') == std::string::npos &&
            entry.name.find('\0') == std::string::npos);
    ++entries;
    const std::string path = joined(folder, entry.name);
    if (entry.kind == TreeEntry::Kind::folder && levels > 0)
      entries += walk(tree, path, levels - 1);
    if (entry.kind != TreeEntry::Kind::file) return;
    read_to_its_end(tree, path);
    if (!is_archive_name(entry.name) || tree.depth() > 2) return;
    try {
      entries +=
          walk(*open_archive_tree(tree, path, [](std::string_view) { return true; }), "", levels);
    } catch (const FileError&) {
    }
  });
  return entries;
}

void expand(const fuzz::Folder& folder) {
  try {
    const auto source = decompressed(OpenedFile(folder.at("a.gz")).source(), "a.gz");
    std::ignore = read_up_to(*source, std::string::npos);
  } catch (const FileError&) {
  }
}

}  // namespace

// The first byte decides what the name says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  folder.clear();
  const std::size_t choice = data[0] % (std::size(kNames) + 1);
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  if (choice == std::size(kNames)) {
    folder.put("a.gz", bytes);
    expand(folder);
    return 0;
  }
  folder.put(kNames[choice], bytes);
  constexpr int kMostLevels = 20;
  try {
    const auto tree = open_archive_tree(*disk_tree(), folder.at(kNames[choice]),
                                        [](std::string_view) { return true; });
    require(tree->depth() == 1);
    walk(*tree, "", kMostLevels);
  } catch (const FileError&) {
  }
  return 0;
}
