// How finished runs are to be worked out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/zone.h"
#include "energy/integrate.h"
#include "recorders/watts.h"

namespace aggregate_power {

// What holds for all runs of a store.
struct RecomputeOptions {
  int schema_version = 2;
  std::optional<std::int64_t> expected_num_gpus;  // nothing: from the aggregate
  std::optional<Zone> zone;                       // nothing: by evidence
  bool one_witness = false;                       // of a zone by evidence is enough
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  std::optional<PowerUnit::Size> power_unit;  // nothing: as each recording's header says
  std::string expected_producer_sha;  // of packages; empty: what stands in the package's own file
  bool salvage = false;               // likewise
  std::string output;                 // empty: results go where the aggregate is
  std::vector<std::string> stores;    // where nothing is written while there is an output
  bool is_searched = true;  // pieces are looked for in all of the store, not just near the run
  bool force = false;
  bool verify = false;
};

}  // namespace aggregate_power
