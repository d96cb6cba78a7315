// Finds each host's recording in its folder.
#include "runs/deployment/host_folders.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/gpu.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

bool is_recording_name(std::string_view name) {
  const auto is_csv = [&](std::string_view compression) {
    return name.ends_with(".csv" + std::string(compression));
  };
  return std::ranges::any_of(kCompressions, is_csv) && !name.starts_with('.') &&
         name.find("_energy_") == name.npos && name.find("_identity") == name.npos;
}

HostFile recording_in(const std::string& folder, const std::string& host) {
  const auto tree = disk_tree();
  std::vector<std::string> names;
  const auto named = [&](std::string_view name) { return fmt::format("{}/{}", folder, name); };
  const std::string usual = named("gpu_metrics.csv");
  try {
    tree->list(folder, [&](const TreeEntry& entry) {
      if (entry.kind == TreeEntry::Kind::file && is_recording_name(entry.name)) {
        names.push_back(entry.name);
      }
    });
  } catch (const FileError&) {  // opening the recording fails too, and that is recorded
    return {host, usual, {}};
  }
  for (const std::string_view compression : kCompressions) {
    const std::string name = "gpu_metrics.csv" + std::string(compression);
    if (std::ranges::find(names, name) != names.end()) return {host, named(name), {}};
  }
  if (names.size() == 1) return {host, named(names[0]), {}};
  if (names.empty()) return {host, usual, {}};
  std::ranges::sort(names);
  return {
      host, usual,
      fmt::format("{} contains several CSV files: {}; name the recording gpu_metrics.csv",
                  printable(folder), printable(fmt::format("{}", fmt::join(names, ", ")), 200))};
}

}  // namespace

std::vector<HostFile> hosts_in(const std::string& nodes) {
  std::vector<std::string> names;
  disk_tree()->list(nodes, [&](const TreeEntry& entry) {
    const bool is_folder =
        entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
    if (is_folder && !entry.name.starts_with('.')) names.push_back(entry.name);
  });
  std::ranges::sort(names, device_name_less);
  std::vector<HostFile> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) {
    hosts.push_back(recording_in(normal_path(fmt::format("{}/{}", nodes, name)), name));
  }
  return hosts;
}

}  // namespace aggregate_power
