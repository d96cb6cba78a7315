// The generations of the producer of `dcgm-power` packages, and how their rules differ. A new
// generation is one row in dialect.cpp. Contract.md C.9.
#pragma once

#include <span>
#include <string_view>

namespace aggregate_power {

struct PackageDialect {
  std::string_view name;           // in the audit record: "pinned"
  int newest_samples_version = 1;  // of the samples.csv that it writes

  // ---- Samples
  bool refuses_same_stamp = false;  // a device's scrape with the stamp of the one before is a fault

  // ---- Windows
  bool is_lax_with_numbers = false;  // true counts as 1, and a schema_version may be 1.0
  bool needs_json_suffix = false;    // other files in the folder of windows are faults
  bool needs_positive_span = false;  // a window has to end after its start
  // Each further window of the same load is a fault of the first one too, not only the second.
  bool repeats_first_duplicate = false;
  bool omits_gaps_of_faulty_windows = false;  // in window_validations
};

// The oldest first.
std::span<const PackageDialect> package_dialects();

}  // namespace aggregate_power
