// The table of package dialects.
#include "packages/dialect.h"

namespace aggregate_power {
namespace {

constexpr PackageDialect kDialects[] = {
    // The generation whose rules the original script copied.
    {.name = "pinned",
     .newest_samples_version = 1,
     .refuses_same_stamp = true,
     .is_lax_with_numbers = true,
     .repeats_first_duplicate = true,
     .omits_gaps_of_faulty_windows = true},
    {.name = "current",
     .newest_samples_version = 2,
     .needs_json_suffix = true,
     .needs_positive_span = true},
};

}  // namespace

std::span<const PackageDialect> package_dialects() { return kDialects; }

}  // namespace aggregate_power
