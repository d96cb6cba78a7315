// How processes shared GPUs, as AIPowerMeter's records say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate_power/process_use.h"
#include "base/system/byte_source.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

struct ProcessShares {
  struct Gpu {
    std::string name;
    std::vector<ShareRecord> records;  // in order of time
  };
  std::vector<std::string> processes;  // process ids, by number
  std::vector<Gpu> gpus;               // that have power
  bool has_processes = false;          // some record has some GPU's
  std::uint64_t attributed = 0;        // records that attribute power to the experiment
  std::uint64_t above_drawn = 0;       // those that attribute more than a GPU drew

  // nullptr: it has none.
  const Gpu* find(const std::string& gpu) const;
};

// Stamps without an offset are in `zone`. Of a text that is cut off, up to there. Throws what
// `source` throws.
ProcessShares read_process_shares(ByteSource& source, const Zone& zone);

}  // namespace aggregate_power
