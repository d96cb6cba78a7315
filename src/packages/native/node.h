// One node of a native package, as its manifest and its identity files describe it.
// Contract-october.md 3.1, 3.2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "base/text/json_value.h"
#include "packages/native/identity.h"

namespace aggregate_power {

// A native package: a folder with one folder for each node, which recorded its own GPUs.
// Contract-october.md 3.1.

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

// A GPU that the node was told to record.
struct NativeGpu {
  std::string index;
  std::string uuid;
};

struct NativeNode {
  std::string folder;  // "node-0"
  JsonValue manifest = {};
  // Its manifest says which run and which node it is. The rest of this block is valid then.
  bool is_identified = false;
  std::int64_t rank = 0;
  Role role = Role::agg;
  std::string name = {};
  std::string job_id = {};
  std::string collector_revision = {};
  std::int64_t expected_num_nodes = 0;

  std::string identity_file = {};
  NativeIdentity identity = {};  // of all its GPUs, from before the recording
  std::vector<NativeGpu> gpus = {};
  bool has_gpus = false;       // all of them are identified, whether or not the recording is good
  NativeNodeFacts facts = {};  // for the record
  Reasons reasons = {};
  std::optional<NativeNodeError> error = {};  // why it was not read to its end
};

// Everything but the node's recording. `window`: nullopt: there is none to compare with. Never
// throws because of the files.
NativeNode read_native_node(const NativePlace& place, const std::string& folder,
                            const std::optional<Window>& window);

// Ends the node; returns the reason.
Reasons fail_native_node(NativeNode& node, const std::string& type, const std::string& detail);

std::string native_file(const NativePlace& place, const NativeNode& node, const char* name);

// ---- What ends the reading of one node of a native package.

// Scripts read both of its texts in the record.
struct NativeFault : std::runtime_error {
  NativeFault(std::string class_name, const std::string& detail)
      : std::runtime_error(detail), type(std::move(class_name)) {}

  std::string type;  // the class of the original's exception; `what()` is its text
};

// A value that is not what the format promises: one of the format's codes.
inline NativeFault native_value_fault(const char* code) { return {"ValueError", code}; }

// ---- Checks the nodes of a package together: whether they are all nodes of one run, with the GPUs
// that were asked for. Contract-october.md 3.2.

// The number of GPUs that were asked for, of all roles.
std::int64_t total_of(const RoleCounts& gpus);

// What is wrong with the numbers asked for, and whether there are nodes at all.
Reasons check_native_question(std::span<const NativeNode> nodes, const RoleCounts& gpus);

// `nodes` have been read, with their recordings.
Reasons check_native_nodes(std::span<const NativeNode> nodes, const RoleCounts& gpus);

}  // namespace aggregate_power
