// Whether a package's manifest agrees with what its samples and windows show. Contract.md C.4.
#pragma once

#include <optional>
#include <vector>

#include "packages/srt_slurm/faults.h"
#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

struct PackageEvidence {
  const PackageSamples& samples;
  const std::vector<SeenDevice>& observed;  // sorted
  const WindowScan& scan;
  const std::vector<WindowValidation>& validations;
  Contract contract;
  const std::optional<PackageWindow>& wanted;  // the run's, if there is exactly one
};

PackageFaults evidence_faults(const PackageContent& content, const PackageEvidence& evidence);

// Whether the manifest's window_validations says this about the windows. Since October members of a
// row that nobody knows do not count, and the gaps of a faulty window may be there or not.
bool is_as_stored(const JsonValue& stored, const std::vector<WindowValidation>& validations,
                  Contract contract);

// The members of rows of the manifest that are not compared, because nobody knows them.
std::vector<std::string> unknown_members(const JsonValue& manifest);

}  // namespace aggregate_power
