// Which runs of the stores a backfill does.
#pragma once

#include <cstdint>
#include <string>

namespace aggregate_power {

struct Selection {
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::string only;  // a glob that the runs' names must fit; empty: all

  // Whether the runs of an artifact are in this shard. Runs of one recorder stay together: they are
  // each other's witnesses.
  bool has_artifact(const std::string& artifact) const;
  // Whether this run of it is selected.
  bool has_run(const std::string& name, const std::string& artifact) const;
};

}  // namespace aggregate_power
