// The generations of the producer of `dcgm-power` packages, and how their rules differ. A new
// generation is one row in dialect.cpp. Contract.md C.9.
#pragma once

#include <span>
#include <string_view>

#include "aggregate_power/contract.h"

namespace aggregate_power {

struct PackageDialect {
  std::string_view name;           // in the audit record: "pinned"
  int newest_samples_version = 1;  // of the samples.csv files that it writes

  // ---- Samples
  bool refuses_same_stamp = false;  // a scrape of a device with the stamp of the previous one is a
                                    // fault

  // ---- Windows
  bool is_lax_with_numbers = false;  // true counts as 1, and a schema_version may be 1.0
  bool needs_json_suffix = false;    // other files in the windows folder are faults
  bool needs_positive_span = false;  // a window must end after its start
  // Every further window of the same load is also a fault of the first one, not only the second.
  bool repeats_first_duplicate = false;
  bool omits_gaps_of_faulty_windows = false;  // in window_validations
};

// Those that a contract knows, ordered from the oldest.
std::span<const PackageDialect> package_dialects(Contract contract);

}  // namespace aggregate_power
