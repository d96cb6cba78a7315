// Reads the traces of torch.profiler (kineto): JSON in Chrome's trace event format.
#pragma once

#include "base/system/byte_source.h"
#include "generators/gpu_trace_part.h"

namespace aggregate_power {

// Reads `source`, which is expanded, in one pass. Of its events, those with a phase "X" count:
// kernels, copies and fills of GPUs, and the wanted ranges. Throws Error, which begins with `path`,
// if it is not such a trace, is truncated or damaged, has no event of a GPU, or has times that
// cannot be placed.
GpuTrace read_chrome_trace(ByteSource& source, const std::string& path, TraceRanges wanted);

}  // namespace aggregate_power
