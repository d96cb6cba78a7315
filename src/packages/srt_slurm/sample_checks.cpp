// Turns what was odd about samples.csv into faults.
#include "packages/srt_slurm/sample_checks.h"

#include <string_view>

#include <fmt/format.h>

namespace aggregate_power {

PackageFaults sample_faults(const PackageSamples& samples, const PackageDialect& dialect) {
  PackageFaults faults;
  const std::string first =
      samples.first_fault.empty() ? "" : fmt::format(" ({})", samples.first_fault);
  const auto fault = [&](std::string_view code, bool is_elsewhere) {
    faults.add(fmt::format("{} in samples.csv{}", code, first), is_elsewhere);
  };
  if (samples.is_missing) fault("samples_csv_missing", false);
  if (samples.has_other_header) fault("samples_csv_header_mismatch", false);
  if (samples.malformed.any() || samples.blank_rows > 0) {
    fault("samples_csv_malformed", samples.malformed.in_band == 0);
    faults.list.back().is_of_cells =
        samples.malformed.in_band > 0 && samples.malformed.in_band == samples.without_power.size();
    faults.count_elsewhere("blank_sample_row", samples.blank_rows);
    faults.count_elsewhere("malformed_sample_row", samples.malformed.outside);
  }
  if (samples.repeated.any()) {
    fault("duplicate_sample_row", samples.repeated.in_band == 0);
    faults.count_elsewhere("duplicate_sample_row", samples.repeated.outside);
  }
  const FaultyRows same = dialect.refuses_same_stamp ? samples.same_stamp : FaultyRows();
  if (samples.turned_back.any() || same.any()) {
    fault("timestamp_non_monotonic", samples.turned_back.in_band + same.in_band == 0);
    faults.count_elsewhere("timestamp_non_monotonic", samples.turned_back.outside + same.outside);
  }
  return faults;
}

}  // namespace aggregate_power
