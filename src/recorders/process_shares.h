// How processes shared GPUs, as AIPowerMeter's records say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files/byte_source.h"
#include "base/text/zone.h"

namespace aggregate_power {

struct ProcessUse {
  std::size_t process = 0;  // its place in ProcessShares::processes
  double use = 0;           // of the GPU's multiprocessors; above 0
};

// Over the period up to a time, since the record before.
struct ShareRecord {
  double unix_s = 0;
  bool is_known = false;  // the record has the GPU's processes, if any
  std::vector<ProcessUse> uses = {};
};

struct ProcessShares {
  struct Gpu {
    std::string name;
    std::vector<ShareRecord> records;  // in order of time
  };
  std::vector<std::string> processes;  // process ids
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
