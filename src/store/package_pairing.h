// A package of a store with one benchmark result, tried; and whether it is still what it was then.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "packages/check.h"
#include "results/record.h"
#include "store/multinode_logs.h"
#include "store/recompute_options.h"

namespace aggregate_power {

struct PackagePairing {
  Result result;
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
};

// All of these are given logs with a package.

// The run's name tells its GPUs; where it does not, and of an agentic run, `aggregate` does, the
// aggregate's text. Throws FileError.
PackagePairing try_package(const MultinodeLogs& package, const StorePath& benchmark,
                           const StoredRun& run, std::string_view aggregate,
                           const RecomputeOptions& options);

// All of its files are there and no others, with their recorded sizes, and none was modified at
// `record_ns` or later; or, to verify, with their recorded contents. May throw FileError.
bool package_is_as_read(const MultinodeLogs& package, const StorePath& benchmark,
                        const Origin& origin, std::int64_t record_ns, bool verify);

// Whether two packages of a run come to the same: by the contents of all that a verdict depends on.
// The benchmark result is one for both, but of agents each one's own. Throws FileError.
bool is_same_package(const MultinodeLogs& a, const MultinodeLogs& b, const StorePath& benchmark);

}  // namespace aggregate_power
