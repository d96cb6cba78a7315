// Reads compressed files as streams.
#pragma once

#include <archive.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/system/byte_source.h"

namespace aggregate_power {

// Telemetry shrinks to a tenth or a thirtieth; Deflate itself could expand a thousandfold.
inline constexpr std::uint64_t kMostTimes = 1000;
inline constexpr std::uint64_t kAlwaysAllowedBytes = std::uint64_t{1} << 30;

// An expansion beyond this is taken for a bomb.
inline std::uint64_t most_expanded_bytes(std::uint64_t packed_bytes) {
  return std::max(kAlwaysAllowedBytes, packed_bytes * kMostTimes);
}

// What a compressed file, or an archive with all archives in it, may expand to at most, whatever
// its size: 64 GiB unless this is set for the process.
void set_most_unpacked_bytes(std::uint64_t bytes);
std::uint64_t most_unpacked_bytes();
// "expands to more than 64 GiB: raise the limit with --max-unpacked"
std::string too_much_unpacked(std::uint64_t most_bytes);

// Whether a file that starts like this (four bytes suffice) is in gzip or Zstandard format.
bool is_compressed(std::string_view start);

// The expansion of `source` if it is_compressed(), whatever its name; otherwise `source` itself.
// `name` is used in messages. The source throws FileError if the file is truncated or damaged, or
// expands to more than most_expanded_bytes() or most_unpacked_bytes().
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name);

// ---- A libarchive reader, freed at the end of its scope.

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

using ArchiveHandle = std::unique_ptr<archive, FreeArchive>;

}  // namespace aggregate_power
