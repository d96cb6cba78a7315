// Reads the results in a folder.
#include "runs/stamps_beside.h"

#include <algorithm>
#include <cstdint>
#include <exception>

#include "base/files/path.h"
#include "base/files/tree.h"
#include "loads/load_generator.h"

namespace aggregate_power::runs {
namespace {

constexpr std::size_t kMostResults = 200;
constexpr std::uint64_t kMostBytes = 16 << 20;

// Those with the names of results, in the order of their names.
std::vector<std::string> results_beside(const std::string& path) {
  const auto tree = disk_tree();
  std::vector<std::string> names;
  const std::string folder = beside(path, "");
  tree->list(folder.empty() ? "." : folder, [&](const TreeEntry& entry) {
    const bool is_json = entry.name.ends_with(".json") || entry.name.ends_with(".jsonl");
    if (entry.kind == TreeEntry::Kind::file && is_json) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  names.resize(std::min(names.size(), kMostResults));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    std::string other = beside(path, name);
    const auto facts = tree->find_file(other);
    if (other != path && facts && facts->bytes <= kMostBytes) paths.push_back(std::move(other));
  }
  return paths;
}

}  // namespace

std::vector<WallStamp> end_stamps_beside(const std::string& path, std::string_view generator) {
  std::vector<WallStamp> stamps;
  try {
    for (const std::string& other : results_beside(path)) {
      try {
        if (recognized(load_file(other)) == nullptr) continue;
        for (const LoadReading& reading : read_loads(load_file(other))) {
          const bool is_of_it = reading.generator == generator && reading.clues.end_stamp;
          if (is_of_it) stamps.push_back(*reading.clues.end_stamp);
        }
      } catch (const std::exception&) {  // it is another run's, and says nothing of this one
      }
    }
  } catch (const std::exception&) {  // a folder that cannot be listed
  }
  return stamps;
}

}  // namespace aggregate_power::runs
