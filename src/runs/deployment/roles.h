// Which GPUs of which hosts have which role in a deployment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"

namespace aggregate_power {

// Some GPUs of one host that have a role: all, a range of indices, or one by name.
struct RoleShare {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  Role role = Role::agg;
  std::string host;
  std::optional<Range> range;
  std::string id;  // if this is empty too: all of the host's GPUs

  std::string text() const;  // "hostA:0-7"
};

// Parses texts such as "prefill=hostA:0-3,6,hostB" (GPUs 0 to 3 and 6 of hostA, all of hostB).
// Every word after a host and its colon, up to the next host, is one of that host's GPUs: an index,
// a range of indices or a UUID. The next host is a word with a colon, or the name of one of `hosts`
// that is not a number. Throws Error for unknown hosts and roles, for a GPU named twice, and for
// anything else that makes no sense.
std::vector<RoleShare> parse_roles(std::span<const std::string> texts,
                                   std::span<const std::string> hosts);

struct RoleAssignment {
  std::vector<Role> roles;  // by GPU; all `agg` if no share was given
  Reasons reasons;          // topology_env_mismatch
};

// Each GPU must have exactly one role, and the GPUs of each share must have been recorded.
RoleAssignment assign_roles(std::span<const RoleShare> shares, std::span<const RecordedGpu> gpus);

}  // namespace aggregate_power
