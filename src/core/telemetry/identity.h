// Reads a file beside a recording that says which GPU each index means.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/system/byte_source.h"

namespace aggregate_power {

// UUIDs by index, both as spelled in the file.
using GpuIdentity = std::map<std::string, std::string>;

// Both throw Error if the file names no GPU, or names one index twice with different spellings; and
// what `source` throws.

// Rows below a header with `index` (or `gpu`) and `uuid`, as nvidia-smi writes them.
GpuIdentity read_identity_csv(std::unique_ptr<ByteSource> source);
// A list of objects, alone or as `gpu_data` of an object, as amd-smi writes them: `gpu` (or
// `index`), and the first `uuid` at any depth; if there is none, the first `asic_serial`.
GpuIdentity read_identity_json(std::unique_ptr<ByteSource> source);

}  // namespace aggregate_power
