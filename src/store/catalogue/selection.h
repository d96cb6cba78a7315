// Selects the runs in the stores that a backfill works on.
#pragma once

#include <cstdint>
#include <string>

namespace aggregate_power {

struct Selection {
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::string only;  // a glob that the runs' names must match; empty: all

  // Whether the runs of an artifact are in this shard. Runs of one recorder stay together, because
  // they are each other's witnesses.
  bool has_artifact(const std::string& artifact) const;
  // Whether this run of the artifact is selected.
  bool has_run(const std::string& name, const std::string& artifact) const;
};

}  // namespace aggregate_power
