// One node of a native package, as its manifest and its identity files describe it.
// Contract-october.md 3.1, 3.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/text/json_value.h"
#include "packages/native/identity.h"
#include "packages/native/native_place.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
