// What a backfill is asked to do.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "store/backfill/recompute.h"

namespace aggregate_power {

struct BackfillRequest {
  std::vector<std::string> stores;
  RecomputeOptions recompute;
  std::string report;  // empty: none
  // A file that lists the runs, "-" for standard input (run_list.h); empty: all runs in the
  // stores.
  std::string runs;
  std::string only;  // a glob that the runs' names must match; empty: all
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  unsigned jobs = 1;
  std::set<Outcome> list;  // list the runs with these outcomes
};

}  // namespace aggregate_power
