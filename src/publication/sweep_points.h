// Builds the published point of a required one from its retained files, with checks 1 to 9 of
// contract-october.md 5.2 on the way. What a manifest says is not considered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "publication/point_evidence.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
