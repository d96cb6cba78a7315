// The result of a run whose nodes recorded their own GPUs: a native package, checked against a
// benchmark result. Contract-october.md 3.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/load.h"
#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "core/load/load_files.h"
#include "packages/srt_slurm/check.h"
#include "packages/native/native_place.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct NativeQuestion {
  NativePlace place;
  std::string result_name;           // the benchmark result's name, for messages
  std::optional<OpenedFile> result;  // nullopt: it cannot be opened
  std::string result_fault;          // why it cannot be opened
  std::optional<LoadReading> load;   // known already: the result is not read
  RoleCounts gpus;
  RunOptions run = {};        // contract, extended, and the extras
  std::string hardware = {};  // what the aggregate calls the GPUs; empty: nothing
};

// Nothing stops the checks: all that is wrong is a reason. Never throws because of the files.
Result check_native(const NativeQuestion& question);

}  // namespace aggregate_power
