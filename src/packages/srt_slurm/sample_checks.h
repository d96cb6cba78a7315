// Checks whether samples.csv is what its producer writes. Contract.md C.4.
#pragma once

#include "packages/srt_slurm/faults.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {

PackageFaults sample_faults(const PackageSamples& samples, const PackageDialect& dialect);

}  // namespace aggregate_power
