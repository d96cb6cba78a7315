// How archives are read: what is in one, its members as files, and the directory of a zip.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"

namespace aggregate_power {

// ---- The names in an archive as a tree of folders.

// "./a//b/" becomes "a/b"; "" is the root. Returns nullopt if the name is absolute or contains
// "..", since it may lead elsewhere.
std::optional<std::string> member_path(std::string_view name);

// Position of a member's bytes in the spool file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> written_ns = {};  // Member's
};

// Takes and returns paths in the form of member_path().
class ArchiveIndex {
 public:
  // Also adds the folders above it. Returns false if the name is taken.
  bool add_file(const std::string& path, Extent extent);
  void add_folder(const std::string& path);
  // A name used by both a file and a folder.
  std::optional<std::string> find_clash() const;

  // Counts files, and folders that were added without a file in them.
  std::size_t size() const { return entries_.size(); }
  std::optional<Extent> find_file(const std::string& path) const;
  bool has_folder(const std::string& path) const;
  // In order of names.
  void list(const std::string& folder,
            const std::function<void(std::string_view name, bool is_folder)>& entry) const;

 private:
  // A folder's key ends in a slash. The folders above an entry follow from its key, so an index of
  // deep paths takes no more room than the paths.
  std::map<std::string, Extent, std::less<>> entries_;
};

// ---- Reads a zip or tar archive from front to back, using libarchive.

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

// ---- The directory of a zip as it is written, for callers that must judge its names themselves:
// libarchive turns some backslashes into slashes, and takes other names from elsewhere.

struct ZipEntry {
  std::string name;  // byte for byte
  bool is_utf8 = false;
  std::uint32_t mode = 0;   // of Unix, as in stat(); 0: the zip does not say
  std::uint64_t bytes = 0;  // when unpacked
};

// In the order of the directory. Throws FileError for a file that is not a whole zip, or whose
// directory is larger than 64 MiB.
std::vector<ZipEntry> zip_directory(const OpenedFile& file);

}  // namespace aggregate_power
