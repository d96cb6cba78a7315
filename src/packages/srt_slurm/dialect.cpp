// The table of package dialects.
#include "packages/srt_slurm/dialect.h"

namespace aggregate_power {
namespace {

// The generation whose rules the original script copied.
constexpr PackageDialect kPinned = {.name = "pinned",
                                    .newest_samples_version = 1,
                                    .refuses_same_stamp = true,
                                    .is_lax_with_numbers = true,
                                    .repeats_first_duplicate = true,
                                    .omits_gaps_of_faulty_windows = true};

constexpr PackageDialect kAugust[] = {kPinned,
                                      {.name = "current",
                                       .newest_samples_version = 2,
                                       .needs_json_suffix = true,
                                       .needs_positive_span = true}};

// The original's reader refuses equal stamps of a device whoever wrote them.
constexpr PackageDialect kOctober[] = {kPinned,
                                       {.name = "current",
                                        .newest_samples_version = 3,
                                        .refuses_same_stamp = true,
                                        .needs_json_suffix = true,
                                        .needs_positive_span = true}};

}  // namespace

std::span<const PackageDialect> package_dialects(Contract contract) {
  return contract == Contract::august ? std::span<const PackageDialect>(kAugust) : kOctober;
}

}  // namespace aggregate_power
