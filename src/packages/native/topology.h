// Checks the nodes of a native package together: whether they are all nodes of one run, with the
// GPUs that were asked for. Contract-october.md 3.2.
#pragma once

#include <span>

#include "aggregate_power/reason.h"
#include "packages/native/node.h"
#include "packages/srt_slurm/check.h"

namespace aggregate_power {

// The number of GPUs that were asked for, of all roles.
std::int64_t total_of(const RoleCounts& gpus);

// What is wrong with the numbers asked for, and whether there are nodes at all.
Reasons check_native_question(std::span<const NativeNode> nodes, const RoleCounts& gpus);

// `nodes` have been read, with their recordings.
Reasons check_native_nodes(std::span<const NativeNode> nodes, const RoleCounts& gpus);

}  // namespace aggregate_power
