// Reads files whole into memory, within the limit of their kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/file.h"

namespace aggregate_power {

// What such a file is called in messages, and the most bytes that it may have. `help limits` lists
// them.
struct FileKind {
  std::string_view name;
  std::uint64_t most_bytes = 0;
};

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

inline constexpr FileKind kAggregateFile = {"an aggregate", 64 * kMiB};
inline constexpr FileKind kAuditRecordFile = {"an audit record", 16 * kMiB};
inline constexpr FileKind kContextFile = {"a context file", 16 * kMiB};
inline constexpr FileKind kEnergySnapshotFile = {"an energy snapshot", 16 * kMiB};
inline constexpr FileKind kSummaryFile = {"a summary of a profile or a model", 64 * kMiB};
inline constexpr FileKind kResultList = {"a file of results", 64 * kMiB};
inline constexpr FileKind kCommandOutput = {"an output of this program", 512 * kMiB};
inline constexpr FileKind kPackageFile = {"a file of a package", 512 * kMiB};
inline constexpr FileKind kWholeRecording = {"a recording that is read whole", 512 * kMiB};
inline constexpr FileKind kSystemFile = {"a file of the system", 64 * kMiB};

// "is larger than 16 MiB, the most that an aggregate may have"
std::string too_large(const FileKind& kind);

// All that is left in `source`. Throws FileError with `name` if that is larger than such a file may
// be, before memory for more is used.
std::string read_whole(ByteSource& source, const std::string& name, const FileKind& kind);
std::string read_whole(const OpenedFile& file, const FileKind& kind);

// The same for a regular file on disk, also after a signal. Throws FileError for anything else,
// without opening it.
std::string read_file(const std::string& path, const FileKind& kind);

}  // namespace aggregate_power
