// Folders and files below a root, on disk or in an archive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.h"

namespace aggregate_power {

struct TreeEntry {
  // A link to a file is a file. A link to a folder has a kind of its own, because it may lead in a
  // circle. link_out: a link to a file that is not in the tree. other: special files, and links
  // that lead nowhere.
  enum class Kind { file, folder, folder_link, link_out, other };
  std::string name;  // within its folder; any bytes but '/' and NUL
  Kind kind = Kind::other;
};

// What an archive on disk, with all archives in it, may expand to. Any number of threads may use
// it.
class ExpansionBudget {
 public:
  ExpansionBudget(std::uint64_t packed_bytes, std::uint64_t most_unpacked_bytes);
  // Counts that `archive` was unpacked to `bytes` so far; one that is unpacked again counts once.
  // Returns what is exceeded, as in "expands to more than 64 GiB"; empty: nothing.
  std::string charge(const std::string& archive, std::uint64_t bytes);
  // What one of the archives may expand to at most.
  std::uint64_t most_bytes() const { return std::min(most_by_ratio_, most_unpacked_bytes_); }

 private:
  std::uint64_t most_by_ratio_;
  std::uint64_t most_unpacked_bytes_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> bytes_;  // by archive
  std::uint64_t sum_ = 0;
};

// What a store on disk may lead to.
struct StoreAccess {
  bool follow_links = false;   // links and names in records are followed out of the store
  std::string artifacts = {};  // a folder to which they may lead; empty: none
};

// Any number of threads may use one tree.
class Tree {
 public:
  virtual ~Tree() = default;
  // Calls `entry` for everything in a folder, in no particular order, without keeping all of it in
  // memory. On disk, each nested list() within `entry` holds one more descriptor open. Throws
  // FileError.
  virtual void list(const std::string& folder,
                    const std::function<void(const TreeEntry&)>& entry) const = 0;
  // The facts of a regular file (links followed); nullopt for anything else.
  virtual std::optional<FileFacts> find_file(const std::string& path) const = 0;
  // When the file's content was last written, if that is known.
  virtual std::optional<std::int64_t> written_ns(const std::string& path) const = 0;
  virtual bool has_folder(const std::string& path) const = 0;
  virtual bool is_link(const std::string& path) const = 0;
  // Where `path` leads after all links, as far as it exists; empty if that cannot be determined.
  virtual std::string resolved(const std::string& path) const = 0;
  // Opens what find_file() finds. Throws FileError. Its name() is suitable for messages: it leads
  // through the archives around it, as in "store.zip/run/bench.json".
  virtual OpenedFile open(const std::string& path) const = 0;
  // The number of archives around the tree: 0 on disk.
  virtual int depth() const = 0;
  bool is_archive() const { return depth() > 0; }
  // Number of links and special files that the archive contains but this tree does not.
  virtual std::uint64_t passed_over() const { return 0; }
  // "leads out of STORE, to TARGET" if there is something at `path` that is not in the tree.
  virtual std::string way_out(const std::string&) const { return {}; }
  // Of the outermost archive; null on disk.
  virtual std::shared_ptr<ExpansionBudget> budget() const { return nullptr; }
  // What the tree, or the one around it, may lead to.
  virtual StoreAccess access() const { return {}; }
  // The temporary space that the tree takes.
  virtual std::uint64_t spooled_bytes() const { return 0; }
};

// What follows the result of Tree::way_out() in a message.
inline constexpr std::string_view kToFollow = "; allow it with --follow-links or --artifacts";
inline std::string not_read(const std::string& way_out) {
  return (way_out + ", and is not read").append(kToFollow);
}

// What is in a folder, in the order of the names. Throws FileError.
std::vector<TreeEntry> sorted_entries(const Tree& tree, const std::string& folder);
// The paths of a folder's entries of wanted kinds on disk, sorted; none if it cannot be listed.
std::vector<std::string> paths_in(const std::string& folder, bool (*is_wanted)(TreeEntry::Kind));

// The files on disk; paths are the system's.
std::shared_ptr<const Tree> disk_tree();

// The files on disk that are in the store `root`, a folder or a file, after following all links,
// and those to which `access` lets it lead. The folders around the root exist, but are not listed.
// Files that the system makes up (/proc, /sys) are in no such tree. A file that begins to lead
// elsewhere between two calls is not opened.
std::shared_ptr<const Tree> bounded_tree(const std::string& root, const StoreAccess& access);

// Whether the bytes of the member with this path are wanted.
using IsWanted = std::function<bool(std::string_view path)>;

// The zip or tar archive (also gzip or Zstandard compressed) at `path` in `tree`, which need not
// outlive it. Paths in it are relative to its root, "", and contain no ".". It holds the wanted
// files, and all folders. They are unpacked at once into a file without a name in $TMPDIR, which
// disappears with the last of the tree and the files opened from it.
// Its files count as modified when the archive was: an archive that was just fetched is new,
// whatever the times in it say.
// Throws FileError for an archive that cannot be read whole (truncated, damaged, encrypted), cannot
// be trusted (names that lead elsewhere or occur twice), or is too large: see the limits in the
// source.
std::shared_ptr<const Tree> open_archive_tree(const Tree& tree, const std::string& path,
                                              const IsWanted& is_wanted);

// .zip, .tar, .tar.gz, .tgz or .tar.zst, with something before it.
bool is_archive_name(std::string_view name);

// The name of an archive without its ending: "power_audit_x.tar.gz" is "power_audit_x". Other names
// are unchanged.
std::string_view archive_stem(std::string_view name);

// ---- A tree that hashes files while someone reads them, so that no file has to be read twice.

// A file as it was when first opened.
struct HashedFile {
  FileFacts facts;
  std::string hash;  // what hash_of() gives
};

// Must be owned by a shared_ptr: files opened from it may outlive its other owners.
class HashingTree : public Tree, public std::enable_shared_from_this<HashingTree> {
 public:
  explicit HashingTree(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

  // What is read through OpenedFile::source() is hashed on the way.
  OpenedFile open(const std::string& path) const override;
  // Reads the file if nobody has read it to its end. Throws FileError, also if someone could not
  // open or read the file before, because that reader has seen only a part of it.
  HashedFile hashed(const std::string& path) const;

  void list(const std::string& folder,
            const std::function<void(const TreeEntry&)>& entry) const override {
    tree_->list(folder, entry);
  }
  std::optional<FileFacts> find_file(const std::string& path) const override {
    return tree_->find_file(path);
  }
  std::optional<std::int64_t> written_ns(const std::string& path) const override {
    return tree_->written_ns(path);
  }
  bool has_folder(const std::string& path) const override { return tree_->has_folder(path); }
  bool is_link(const std::string& path) const override { return tree_->is_link(path); }
  std::string resolved(const std::string& path) const override { return tree_->resolved(path); }
  int depth() const override { return tree_->depth(); }
  std::uint64_t passed_over() const override { return tree_->passed_over(); }
  std::string way_out(const std::string& path) const override { return tree_->way_out(path); }
  std::shared_ptr<ExpansionBudget> budget() const override { return tree_->budget(); }
  StoreAccess access() const override { return tree_->access(); }
  std::uint64_t spooled_bytes() const override { return tree_->spooled_bytes(); }

 private:
  // What is known about a file that was opened.
  struct Note {
    std::optional<FileFacts> facts;  // nullopt: it could not be opened
    std::string hash;                // empty: unknown
    std::optional<FileError> fault;  // the first one
  };
  class Source;
  OpenedFile open_noting(const std::string& path) const;
  Note note_of(const std::string& path) const;
  // `change` takes the file's Note.
  template <typename Change>
  void change_note(const std::string& path, const Change& change) const;

  std::shared_ptr<const Tree> tree_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Note> notes_;  // by normal path
};

}  // namespace aggregate_power
