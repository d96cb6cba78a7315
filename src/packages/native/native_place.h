// A native package: a folder with one folder for each node, which recorded its own GPUs.
// Contract-october.md 3.1.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

// Its name below the logs root.
inline constexpr const char* kNativeFolder = "native_power";

struct NativePlace {
  std::shared_ptr<const Tree> tree;
  std::string power_dir;  // normal path
};

// The folders with a manifest, in the order of their names. Empty if there are none, or if the
// package cannot be listed.
std::vector<std::string> native_nodes(const NativePlace& place);

// Whether the folder is a native package: it has no manifest of its own, and has nodes with
// manifests, or the name of a native package.
bool is_native_package(const NativePlace& place);

// Every file below the package, and the files that links in it lead to: no run may change them.
std::vector<std::string> native_files(const NativePlace& place);

}  // namespace aggregate_power
