// Folders and files below a root, on disk or in an archive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/file.h"

namespace aggregate_power {

struct TreeEntry {
  // A link to a file is a file. A link to a folder is a kind of its own: it may lead in a circle.
  // other: special files, links that lead nowhere.
  enum class Kind { file, folder, folder_link, other };
  std::string name;  // in its folder; any bytes but '/' and NUL
  Kind kind = Kind::other;
};

// Any number of threads may use one.
class Tree {
 public:
  virtual ~Tree() = default;
  // What lies in a folder, in no particular order, without holding all of it in memory. A list()
  // within `entry` holds one more descriptor open on disk. Throws FileError.
  virtual void list(const std::string& folder,
                    const std::function<void(const TreeEntry&)>& entry) const = 0;
  // Of a regular file (links followed); nothing for anything else.
  virtual std::optional<FileFacts> find_file(const std::string& path) const = 0;
  // When the file's content was last written, as far as that can be told.
  virtual std::optional<std::int64_t> written_ns(const std::string& path) const = 0;
  virtual bool has_folder(const std::string& path) const = 0;
  virtual bool is_link(const std::string& path) const = 0;
  // Where `path` leads after all links, as far as it is there; empty where that cannot be told.
  virtual std::string resolved(const std::string& path) const = 0;
  // What find_file() finds. Throws FileError. Its name() is good for messages: it leads through the
  // archives around it, as in "store.zip/run/bench.json".
  virtual OpenedFile open(const std::string& path) const = 0;
  // How many archives it lies in: 0 on disk.
  virtual int depth() const = 0;
  bool is_archive() const { return depth() > 0; }
  // Links and special files that the archive holds and this tree does not.
  virtual std::uint64_t passed_over() const { return 0; }
};

// What is on disk; paths as the system takes them.
std::shared_ptr<const Tree> disk_tree();

// Of a member's path: whether its bytes are wanted.
using IsWanted = std::function<bool(std::string_view path)>;

// The zip or tar archive (also gzip or Zstandard compressed) that lies at `path` in `tree`, which
// need not outlive it. Paths in it are relative to its root, "", and have no "." in them. It holds
// the files that are wanted, and all folders. They are unpacked at once into a file without a name
// in $TMPDIR, which goes with the last of the tree and the files opened from it.
// Its files were modified when the archive was: one that was just fetched is new, whatever the
// times in it say.
// Throws FileError for what cannot be had whole (cut off, damaged, encrypted), cannot be trusted
// (names that lead elsewhere or are there twice), or is too much: see the limits in the source.
std::shared_ptr<const Tree> open_archive_tree(const Tree& tree, const std::string& path,
                                              const IsWanted& is_wanted);

// .zip, .tar, .tar.gz, .tgz or .tar.zst, and something before it.
bool is_archive_name(std::string_view name);

// Of an archive's name: "power_audit_x.tar.gz" is "power_audit_x". Other names stay as they are.
std::string_view archive_stem(std::string_view name);

}  // namespace aggregate_power
