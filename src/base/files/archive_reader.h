// Reads a zip or tar archive from front to back, using libarchive.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/files/file.h"

namespace aggregate_power {

struct Member {
  enum class Kind { file, folder, other };  // other: links and special files
  std::string name;                         // as written in the archive
  Kind kind = Kind::other;
  std::optional<std::uint64_t> bytes;
  // When it was last written, only if the archive says so in UTC. A zip's plain times are local
  // times of an unknown zone.
  std::optional<std::int64_t> written_ns;
};

// Regardless of its name, a file that begins like a zip is read as one, any other as a tar, which
// may be compressed. Any call throws FileError if the archive cannot be read completely: it is
// truncated, damaged, encrypted, or (a compressed tar) expands to more than most_expanded_bytes()
// of its size.
class ArchiveReader {
 public:
  // `most_bytes`: that a compressed tar may expand to, below the limit that its size sets.
  explicit ArchiveReader(const OpenedFile& file,
                         std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
  ~ArchiveReader();

  // The next member, whether or not the last one was read. Returns nullopt at the end, after the
  // whole archive was found to be sound.
  std::optional<Member> next();
  // Reads the member that next() returned; returns 0 only at its end.
  std::size_t read(std::span<char> into);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

// "x.zip: WHY; fetch the archive again, or unpack it and pass the folder"
[[noreturn]] void refuse_archive(const std::string& name, const std::string& why);

}  // namespace aggregate_power
