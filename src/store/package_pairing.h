// Tries a stored package with one benchmark result, and finds whether the package has changed
// since.
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
#include "store/recompute.h"

namespace aggregate_power {

struct PackagePairing {
  Result result;
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
};

// All of these require logs with a package.

// The number of GPUs comes from the run's name; for agentic runs, or if the name lacks it, from
// `aggregate`, the aggregate's text. Throws FileError.
PackagePairing try_package(const MultinodeLogs& package, const StorePath& benchmark,
                           const StoredRun& run, std::string_view aggregate,
                           const RecomputeOptions& options);

// Whether exactly its files exist, with their recorded sizes, and none was modified at `record_ns`
// or later; or, with `verify`, with their recorded contents. May throw FileError.
bool package_is_as_read(const MultinodeLogs& package, const StorePath& benchmark,
                        const Sources& sources, std::int64_t record_ns, bool verify);

// Whether two packages of a run give the same result, by the contents of everything that a verdict
// depends on. They share the benchmark result, except that agents' packages have one each. Throws
// FileError.
bool is_same_package(const MultinodeLogs& a, const MultinodeLogs& b, const StorePath& benchmark);

}  // namespace aggregate_power
