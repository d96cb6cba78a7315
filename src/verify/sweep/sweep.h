// Verifies a published sweep, and writes its manifest. Contract-october.md 5.1 to 5.3.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json_value.h"
#include "packages/srt_slurm/shared_samples.h"
#include "store/catalogue/retained_files.h"
#include "verify/run/verify_runs.h"
#include "verify/sweep/checks.h"
#include "verify/sweep/manifest.h"
#include "verify/sweep/point_files.h"

namespace aggregate_power {

struct SweepRequest {
  std::string manifest;   // normal path
  std::string artifacts;  // the folder that the manifest's paths are relative to; empty: its own,
                          // or the one above if that is the manifest's own artifact
  ExpectedRun expected;
  std::size_t most_threads = 1;
};

// The folder of the artifacts.
std::string artifacts_of(const SweepRequest& request);

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

// ---- What `verify` checks of a sweep: its points, and what each is computed from.

// ---- The checks of a point's aggregate and audit record against the matrix and each other: 1, 2,
// 4 to 8 of contract-october.md 5.2.

// A GPU as published.
struct Device {
  std::string node;
  std::string gpu_uuid;
  std::string role;  // aggregate, prefill, decode
  JsonValue energy_j;
};

// Whether two energies are equal but for rounding: within 1e-4 of the larger, or 0.01 J.
bool is_same_energy(double a_j, double b_j);

// Check 1: the aggregate's verdict and the metrics that it must have.
void check_aggregate(const RequiredPoint& point, const JsonValue& aggregate, PointFaults& faults);
// Check 2. Returns the number of GPUs that the matrix requires; nullopt if it does not say.
std::optional<std::int64_t> check_topology(const RequiredPoint& point, const JsonValue& aggregate,
                                           PointFaults& faults);
// Check 4: the record's verdict and window.
void check_verdict(const JsonValue& record, PointFaults& faults);
// Checks 5 to 8. Returns the number of GPUs to publish.
JsonValue check_devices(const RequiredPoint& point, const JsonValue& aggregate,
                        const JsonValue& record, const std::vector<Device>& devices,
                        std::optional<std::int64_t> required_gpus, PointFaults& faults);

// ---- Builds the published point of a required one from its retained files, with checks 1 to 9 of
// contract-october.md 5.2 on the way. What a manifest says is not considered.

struct BuiltPoint {
  PointEvidence evidence;
  // As the manifest has it, keys in order. Null: too much is missing. The artifacts' digests are
  // computed here.
  JsonValue json;
};

// Returns nullopt if the point's files are not there. Never throws because of the files: all that
// does not hold is among `faults`, and `could_not_open` says whether a file that exists could not
// be read.
std::optional<BuiltPoint> build_point(const Evidence& evidence, const Aggregates& aggregates,
                                      const RequiredPoint& required, PointFaults& faults,
                                      bool& could_not_open);

// ---- Computes the numbers of a point again from its retained telemetry: check 12 of
// contract-october.md 5.2.

struct RecomputedPoint {
  // By the key of the audit record, unrounded.
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::pair<std::string, double>> gpu_energies_j;
  std::vector<std::pair<std::string, std::string>> gpu_roles;  // empty: the telemetry has none
  bool lacks_cpus = false;  // those of the CPUs were not computed
  // Why there are none, or not all.
  std::string refusal = {};             // the telemetry gives no valid power; empty: it does
  std::vector<std::string> notes = {};  // what could not be done, for people
  // What the record says otherwise than the files, besides numbers: what, expected, found.
  std::vector<std::array<std::string, 3>> faults = {};
};

// `shared` is kept between the points of one run. The benchmark's raw result is used where it is
// retained; otherwise the window and the counts of the record are. May throw FileError.
RecomputedPoint recompute_point(const Evidence& evidence, const RequiredPoint& required,
                                const PointEvidence& found, SharedSamples& shared);

}  // namespace aggregate_power
