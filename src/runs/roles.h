// Which GPUs of which hosts have which role in a deployment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"

namespace aggregate_power {

// Some GPUs of one host that have a role: all of them, a range of indices, or one by its name.
struct RoleShare {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  Role role = Role::agg;
  std::string host;
  std::optional<Range> range;
  std::string id;  // with neither: all of the host's

  std::string text() const;  // "hostA:0-7"
};

// Of texts such as "prefill=hostA:0-3,6,hostB" (of hostA the GPUs 0 to 3 and 6, of hostB all):
// behind a host and its colon every word up to the next host is one of its GPUs, an index, a range
// of them or a UUID. A word with a colon, or the name of one of `hosts` that is no number, is the
// next host. Throws Error for what cannot be meant: unknown hosts and roles, a GPU named twice.
std::vector<RoleShare> parse_roles(std::span<const std::string> texts,
                                   std::span<const std::string> hosts);

struct RoleAssignment {
  std::vector<Role> roles;  // by GPU; all `agg` where no share was given
  Reasons reasons;          // topology_env_mismatch
};

// Each GPU must have one role, and each share GPUs that were recorded.
RoleAssignment assign_roles(std::span<const RoleShare> shares, std::span<const RecordedGpu> gpus);

}  // namespace aggregate_power
