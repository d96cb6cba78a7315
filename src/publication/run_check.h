// Whether the aggregate and the audit record of a run still say what its files give.
#pragma once

#include <optional>
#include <string>

#include "publication/verification.h"
#include "store/store_path.h"

namespace aggregate_power {

// The words for what no longer holds: PublicationFault::verdict.
inline constexpr const char* kChanged = "changed";    // a file that the run was computed from
inline constexpr const char* kMissing = "missing";    // such a file, or the record of an aggregate
inline constexpr const char* kTampered = "tampered";  // an aggregate or a record
inline constexpr const char* kNotReproducible = "not reproducible by this version";

// Compares the hash of each input, computes the run again, and compares every value of the audit
// record, and every member of the aggregate that is ours. `artifacts`: where else the files may be;
// empty: nowhere. Never throws because of the files.
struct RunVerification {
  Verification found;
  std::optional<StorePath> aggregate;  // the run's, if it was found
};
RunVerification verify_run(const StorePath& record, const std::string& artifacts);

}  // namespace aggregate_power
