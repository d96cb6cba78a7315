// Reads the files of a native package that say which GPU each index of a node means: the one from
// before the recording, and the one from after it. Contract-october.md 3.2.
#pragma once

#include <map>
#include <string>

#include "base/files/file.h"

namespace aggregate_power {

// Unlike the identity files beside other recordings, these are evidence: all of it must be sound.
enum class NativeVendor { nvidia, amd };

// UUIDs by index, both as spelled in the file. Throws NativeFault and FileError.
using NativeIdentity = std::map<std::string, std::string>;
NativeIdentity read_native_identity(const OpenedFile& file, NativeVendor vendor);

// "gpu_metrics_identity.csv"; at the recording's end "gpu_metrics_identity_end.csv".
const char* native_identity_name(NativeVendor vendor, bool at_end);

}  // namespace aggregate_power
