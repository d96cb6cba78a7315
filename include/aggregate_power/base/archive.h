// Compressed files as streams. libarchive expands them.
#pragma once

#include <memory>
#include <string>

#include "aggregate_power/base/byte_source.h"

namespace aggregate_power {

// What `source` expands to when it begins as a gzip or Zstandard file does, whatever its name; else
// `source` as it is. `name` is for messages. The source throws FileError when the file is cut
// off or damaged, or expands to far more than telemetry does (1 GiB, and 1000 times its size).
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name);

}  // namespace aggregate_power
