// Computes the numbers of a point again from its retained telemetry: check 12 of
// contract-october.md 5.2.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "publication/evidence.h"
#include "publication/point_evidence.h"

namespace aggregate_power {

struct Recomputed {
  // By the key of the audit record, unrounded.
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::pair<std::string, double>> gpu_energies_j;
  std::vector<std::pair<std::string, std::string>> gpu_roles;  // empty: the telemetry has none
  // Why there are none, or not all.
  std::string refusal = {};             // the telemetry gives no valid power; empty: it does
  std::vector<std::string> notes = {};  // what could not be done, for people
  // What the record says otherwise than the files, besides numbers: what, expected, found.
  std::vector<std::array<std::string, 3>> faults = {};
};

// `point` names it in notes. The benchmark's raw result is used where it is retained; otherwise the
// window and the counts of the record are. May throw FileError.
Recomputed recompute_point(const Evidence& evidence, const RequiredPoint& required,
                           const PointEvidence& found);

}  // namespace aggregate_power
