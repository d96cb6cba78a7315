// Finds the retained files of a required point: its aggregate, its audit record, its telemetry.
// Contract-october.md 5.2 (checks 3 and 9) and 5.3.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "store/catalogue/retained_files.h"
#include "verify/sweep/checks.h"
#include "verify/sweep/manifest.h"

namespace aggregate_power {

// All aggregates of a sweep, `bmk*/*.json`, by what a row of the matrix says of them.
class Aggregates {
 public:
  // Reads each once; what cannot be read is among the faults. May throw FileError.
  Aggregates(const Evidence& evidence, std::size_t most_threads);

  std::vector<std::string> matching(const RequiredPoint& point) const;  // paths
  const std::vector<PublicationFault>& faults() const { return faults_; }
  bool could_not_open() const { return could_not_open_; }

 private:
  std::multimap<std::string, std::pair<std::string, JsonValue>> by_fingerprint_;
  std::vector<PublicationFault> faults_;
  bool could_not_open_ = false;
};

enum class TelemetryKind { one_node, package, native };

// Of an artifact that was found. All paths are relative to the evidence's root.
struct PointEvidence {
  std::string aggregate_path;
  JsonValue aggregate;
  std::string record_path;  // of the audit record
  JsonValue record;
  TelemetryKind telemetry = TelemetryKind::one_node;
  std::string place;                     // gpu_metrics.csv; the package's folder
  std::vector<std::string> identity;     // power_node.txt and the file of UUIDs, of one node
  std::vector<std::string> recordings;   // files below the package or its nodes, or gpu_metrics.csv
  std::vector<std::string> all() const;  // sorted
};

// The artifact's name less the mark of its kind: bmk_X and bmk_agentic_X are of the run X.
std::string run_of_artifact(const RequiredPoint& point, const std::string& aggregate_path);

// Check 3: the only audit record of the point. Sets its path and content, or adds a fault and
// returns false. These may throw Error and FileError.
bool find_record(const Evidence& evidence, const RequiredPoint& point, PointEvidence& found,
                 PointFaults& faults);
// Check 9 and the files beside the record. Returns false if the telemetry is not there.
bool find_point_telemetry(const Evidence& evidence, const RequiredPoint& point,
                          PointEvidence& found, PointFaults& faults);

}  // namespace aggregate_power
