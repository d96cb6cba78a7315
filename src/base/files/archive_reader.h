// A zip or tar archive from front to back. libarchive reads it.
#pragma once

#include <cstdint>
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
  // When it was last written; only where the archive says so in UTC. A zip's plain times are those
  // of some clock on a wall.
  std::optional<std::int64_t> written_ns;
};

// Whatever its name is, a file that begins as a zip is read as one, else as a tar, which may be
// compressed. Any call throws FileError when the archive cannot be read whole: cut off, damaged,
// encrypted, expanding to more than most_expanded_bytes() of its size (a compressed tar).
class ArchiveReader {
 public:
  explicit ArchiveReader(const OpenedFile& file);
  ~ArchiveReader();

  // The next one, whether the last was read or not; nothing at the end, once the whole archive was
  // seen to be sound.
  std::optional<Member> next();
  // Of the member that next() gave; 0 only at its end.
  std::size_t read(std::span<char> into);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

// "x.zip: WHY; fetch the archive again, or unpack it and pass the folder"
[[noreturn]] void refuse_archive(const std::string& name, const std::string& why);

}  // namespace aggregate_power
