// Lists the files of a package and the results that its windows name.
#include "packages/srt_slurm/inputs.h"

#include <cstdint>
#include <optional>

#include "base/files/path.h"
#include "base/files/whole_file.h"
#include "base/text/json_members.h"

namespace aggregate_power {
namespace {

std::vector<std::string> files_in(const Tree& tree, const std::string& folder) {
  std::vector<std::string> files;
  if (!tree.has_folder(folder)) return files;
  try {
    tree.list(folder, [&](const TreeEntry& entry) {
      if (entry.kind == TreeEntry::Kind::file) files.push_back(path_below(folder, entry.name));
    });
  } catch (const FileError&) {
  }
  return files;
}

// The result that a window names, even if the window is not valid.
std::optional<std::string> result_path_in(const Tree& tree, const std::string& window) {
  try {
    const OpenedFile file = tree.open(window);
    if (file.size() > kMostWindowBytes) return std::nullopt;
    const std::string text = read_whole(file, kPackageFile);
    JsonMemberText path;
    find_members(text, {{"result_path", path}});
    if (path.kind == JsonKind::string) return path.scalar().text;
  } catch (const FileError&) {
  } catch (const JsonError&) {
  }
  return std::nullopt;
}

}  // namespace

CpuFolders cpu_folders(const PackagePlace& place) {
  return {path_below(place.power_dir, "cpu"), path_below(place.logs_root, "cpu_power")};
}

PackageInputs package_inputs(const PackagePlace& place) {
  PackageInputs inputs;
  for (const char* const name :
       {"manifest.json", "samples.csv", "power-producer-sha.txt", "exporter-image.sha256"}) {
    inputs.files.push_back(path_below(place.power_dir, name));
  }
  for (const char* const name : {"windows", "cpu"}) {
    inputs.folders.push_back(path_below(place.power_dir, name));
    const std::vector<std::string> files = files_in(*place.tree, inputs.folders.back());
    inputs.files.insert(inputs.files.end(), files.begin(), files.end());  // they may be links
  }
  for (std::string& file : cpu_files_of_hosts(cpu_folders(place))) {
    if (place.tree->find_file(file)) inputs.files.push_back(std::move(file));
  }
  for (const std::string& window : files_in(*place.tree, inputs.folders.front())) {
    if (const auto path = result_path_in(*place.tree, window)) {
      inputs.files.push_back(path_below(place.logs_root, *path));
    }
  }
  return inputs;
}

}  // namespace aggregate_power
