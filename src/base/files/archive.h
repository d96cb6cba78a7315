// Compressed files as streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/byte_source.h"

namespace aggregate_power {

// Telemetry shrinks to a tenth or a thirtieth; Deflate alone could expand a thousandfold.
inline constexpr std::uint64_t kMostTimes = 1000;
inline constexpr std::uint64_t kAlwaysAllowedBytes = std::uint64_t{1} << 30;

// What goes beyond is taken for a bomb.
inline std::uint64_t most_expanded_bytes(std::uint64_t packed_bytes) {
  return std::max(kAlwaysAllowedBytes, packed_bytes * kMostTimes);
}

// Whether a file that starts so (four bytes suffice) is a gzip or Zstandard one.
bool is_compressed(std::string_view start);

// What `source` expands to when it is_compressed(), whatever its name; else `source` as it is.
// `name` is for messages. The source throws FileError when the file is cut off or damaged, or
// expands to more than most_expanded_bytes().
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name);

}  // namespace aggregate_power
