// Verifies a measurement receipt or a publication record with the archives beside it.
// Contract-october.md 5.4.
#pragma once

#include <string>

#include "verify/run/verification.h"

namespace aggregate_power {

// `path` is a normal path. The archives are looked for beside the file, as NAME.zip or ID.zip.
// Changes nothing. Throws FileError if the file itself cannot be opened.
Verification verify_receipt(const std::string& path, std::size_t most_threads);

}  // namespace aggregate_power
