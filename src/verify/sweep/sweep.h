// Verifies a published sweep, and writes its manifest. Contract-october.md 5.1 to 5.3.
#pragma once

#include <string>

#include "verify/sweep/manifest.h"
#include "verify/run/verification.h"

namespace aggregate_power {

struct SweepRequest {
  std::string manifest;   // normal path
  std::string artifacts;  // the folder that the manifest's paths are relative to; empty: its own,
                          // or the one above if that is the manifest's own artifact
  ExpectedRun expected;
  std::size_t most_threads = 1;
};

// Recomputes every published number from the retained files. Changes nothing. Throws FileError if
// the manifest cannot be opened.
Verification verify_sweep(const SweepRequest& request);

struct SweepBuild {
  std::string text;  // of the manifest; empty if there are faults
  std::size_t points = 0;
  Verification found;  // what prevents it
};
// The manifest of a sweep, from its description and the retained files below `artifacts`. Throws
// FileError if one of the two cannot be opened.
SweepBuild build_sweep(const std::string& description, const std::string& artifacts,
                       std::size_t most_threads);

}  // namespace aggregate_power
