// Whether a package's manifest agrees with what its samples and windows show. Contract.md C.4.
#pragma once

#include <optional>
#include <vector>

#include "packages/faults.h"
#include "packages/manifest.h"
#include "packages/samples.h"
#include "packages/window_checks.h"
#include "packages/windows.h"

namespace aggregate_power {

struct PackageEvidence {
  const PackageSamples& samples;
  const std::vector<SeenDevice>& observed;  // sorted
  const WindowScan& scan;
  const std::vector<WindowValidation>& validations;
  const std::optional<PackageWindow>& wanted;  // the run's, if there is exactly one
};

PackageFaults evidence_faults(const PackageContent& content, const PackageEvidence& evidence);

}  // namespace aggregate_power
