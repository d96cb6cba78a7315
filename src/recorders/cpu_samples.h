// The CPU power samples of a package: `cpu/samples.csv` of srt-slurm, version 1 or 2. Contract.md
// F.4.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aggregate_power/reason.h"
#include "base/files/byte_source.h"

namespace aggregate_power {

struct CpuSample {
  double unix_s = 0;
  std::string hostname;
  std::string source;  // "acpi", "dcgm", ...
  std::string sensor;
  std::int64_t socket_id = 0;
  double power_w = 0;
  std::optional<double> cpu_rail_w;  // version 2
  std::optional<double> soc_w;
};

// Gives all good rows to `take`, in the file's order; the view is good during the call only. The
// reasons are cpu_samples_header_mismatch, without any row, and cpu_samples_malformed: a blank row,
// too many or too few cells, another version's number, a name that is empty, a number that is none
// or negative, a cell without end. Throws what `source` throws, after the rows before.
Reasons read_cpu_samples(ByteSource& source, const std::function<void(const CpuSample&)>& take);

}  // namespace aggregate_power
