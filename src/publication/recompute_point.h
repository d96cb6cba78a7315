// Computes the numbers of a point again from its retained telemetry: check 12 of
// contract-october.md 5.2.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "packages/shared_samples.h"
#include "publication/point_evidence.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {

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
