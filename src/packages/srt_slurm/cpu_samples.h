// The CPU power samples of a package: `power/cpu/samples.csv`, which srt-slurm writes on the head
// node, or `cpu_power/samples.csv`, which its hosts write. Contract-october.md 9.1.
#pragma once

#include <functional>

#include "aggregate_power/cpu_sample.h"
#include "aggregate_power/reason.h"
#include "base/system/byte_source.h"

namespace aggregate_power {

// Where a recording is from: their versions have different columns.
enum class CpuRecorder { head_node, hosts };

// Passes all good rows to `take`, in the file's order; the view is valid only during the call. The
// reasons are cpu_samples_header_mismatch, without any row, and cpu_samples_malformed: a blank row,
// too many or too few cells, another version's number, an empty name, a malformed or negative
// number, an unterminated cell. Throws what `source` throws, after the rows before it.
Reasons read_cpu_samples(ByteSource& source, CpuRecorder recorder,
                         const std::function<void(const CpuSample&)>& take);

}  // namespace aggregate_power
