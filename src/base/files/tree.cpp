// The tree on disk, and the names of archives.
#include "base/files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <span>
#include <system_error>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/files/hash.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

TreeEntry::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return TreeEntry::Kind::file;
  return S_ISDIR(mode) ? TreeEntry::Kind::folder : TreeEntry::Kind::other;
}

// Asks the system, because readdir() does not always know.
TreeEntry::Kind kind_of(int folder, const char* name) {
  struct stat found;
  if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return TreeEntry::Kind::other;
  if (!S_ISLNK(found.st_mode)) return kind_of(found.st_mode);
  if (fstatat(folder, name, &found, 0) != 0) return TreeEntry::Kind::other;
  const TreeEntry::Kind kind = kind_of(found.st_mode);
  return kind == TreeEntry::Kind::folder ? TreeEntry::Kind::folder_link : kind;
}

TreeEntry::Kind kind_of(int folder, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return TreeEntry::Kind::file;
    case DT_DIR:
      return TreeEntry::Kind::folder;
    case DT_LNK:
    case DT_UNKNOWN:
      return kind_of(folder, entry.d_name);
    default:
      return TreeEntry::Kind::other;
  }
}

class DiskTree : public Tree {
 public:
  void list(const std::string& folder,
            const std::function<void(const TreeEntry&)>& entry) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), &closedir);
    if (!listing) throw FileError(folder, "list", errno);
    TreeEntry found;
    for (;;) {
      errno = 0;
      const dirent* const next = readdir(listing.get());
      if (next == nullptr && errno != 0) throw FileError(folder, "list", errno);
      if (next == nullptr) return;
      found.name = next->d_name;
      if (found.name == "." || found.name == "..") continue;
      found.kind = kind_of(dirfd(listing.get()), *next);
      entry(found);
    }
  }

  std::optional<std::int64_t> written_ns(const std::string& path) const override {
    const auto facts = find_file(path);
    return facts ? std::optional(facts->modified_ns) : std::nullopt;
  }

  std::optional<FileFacts> find_file(const std::string& path) const override {
    struct stat found;
    if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    return facts_of(found);
  }

  bool has_folder(const std::string& path) const override {
    struct stat found;
    return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  }

  bool is_link(const std::string& path) const override {
    struct stat found;
    return lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
  }

  std::string resolved(const std::string& path) const override {
    std::error_code error;
    std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (!error) absolute = std::filesystem::weakly_canonical(absolute, error);
    return error ? std::string() : absolute.string();
  }

  OpenedFile open(const std::string& path) const override { return opened_regular(path); }

  int depth() const override { return 0; }
};

// Files that are made up as they are read: they may wait, never end, or tell secrets.
bool is_of_system(const Descriptor& file) {
  constexpr std::array<long, 6> kMadeUp = {PROC_SUPER_MAGIC, SYSFS_MAGIC,      DEBUGFS_MAGIC,
                                           TRACEFS_MAGIC,    SECURITYFS_MAGIC, CGROUP2_SUPER_MAGIC};
  struct statfs found;
  return ::fstatfs(file.get(), &found) == 0 &&
         std::ranges::find(kMadeUp, static_cast<long>(found.f_type)) != kMadeUp.end();
}

// Remembers for some folders whether they are in the tree: many files are asked for in each.
class KnownFolders {
 public:
  template <typename Find>
  bool is_in(const std::string& folder, Find find) {
    constexpr std::size_t kMost = 1024;
    {
      const std::lock_guard guard(mutex_);
      if (const auto known = known_.find(folder); known != known_.end()) return known->second;
    }
    const bool found = find();
    const std::lock_guard guard(mutex_);
    if (known_.size() == kMost) known_.clear();
    known_.emplace(folder, found);
    return found;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, bool> known_;
};

class BoundedTree : public DiskTree {
 public:
  BoundedTree(const std::string& root, const StoreAccess& access)
      : root_(root),
        named_(std::filesystem::absolute(root).lexically_normal().string()),
        access_(access),
        roots_{resolve_what_is_there(root)} {
    if (!access.artifacts.empty()) roots_.push_back(resolve_what_is_there(access.artifacts));
  }

  void list(const std::string& folder,
            const std::function<void(const TreeEntry&)>& entry) const override {
    if (!holds_folder(folder)) throw FileError(folder, out_of_root(resolved(folder)));
    DiskTree::list(folder, [&](const TreeEntry& found) {
      const bool may_lead_out = found.kind == TreeEntry::Kind::file && !access_.follow_links;
      if (may_lead_out && !holds_path(folder + "/" + found.name)) {
        entry({found.name, TreeEntry::Kind::link_out});
      } else {
        entry(found);
      }
    });
  }

  std::optional<FileFacts> find_file(const std::string& path) const override {
    // Most names that are asked for are not there.
    const auto facts = DiskTree::find_file(path);
    return facts && holds_path(path) ? facts : std::nullopt;
  }

  bool has_folder(const std::string& path) const override {
    return DiskTree::has_folder(path) && (holds_path(path) || is_around_root(path));
  }

  OpenedFile open(const std::string& path) const override {
    if (std::string out = way_out(path); !out.empty()) {
      throw FileError(path, not_read(out));
    }
    FileFacts facts;
    const auto file = open_regular(path, facts);
    if (is_of_system(*file)) throw FileError(path, "is made up by the system, and is not read");
    if (!access_.follow_links && !is_where_it_was(*file)) {
      throw FileError(path, out_of_root("another file"));
    }
    std::ignore = ::posix_fadvise(file->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    return OpenedFile(path, file, 0, facts);
  }

  std::string way_out(const std::string& path) const override {
    struct stat found;
    if (::stat(path.c_str(), &found) != 0 || holds_path(path)) return {};
    return out_of_root(resolved(path));
  }

  StoreAccess access() const override { return access_; }

 private:
  std::string out_of_root(const std::string& target) const {
    return fmt::format("leads out of {}, to {}", root_, target);
  }

  // Also where a link in the root's own name leads away: who named it has chosen that.
  bool is_around_root(const std::string& folder) const {
    return is_in(named_, folder) ||
           around_.is_in(folder, [&] { return is_in(roots_[0], resolve_what_is_there(folder)); });
  }

  bool is_in_a_root(std::string_view real) const {
    return std::ranges::any_of(roots_, [&](const std::string& root) { return is_in(real, root); });
  }

  bool holds_folder(const std::string& folder) const {
    if (access_.follow_links) return true;
    return folders_.is_in(folder, [&] { return is_in_a_root(resolve_what_is_there(folder)); });
  }

  // Most files are no links, so that their folder decides.
  bool holds_path(const std::string& path) const {
    if (access_.follow_links) return true;
    const std::size_t slash = path.rfind('/');
    const std::string_view name = std::string_view(path).substr(slash + 1);
    const bool is_plain = !name.empty() && name != "." && name != ".." && !is_link(path);
    if (!is_plain) return is_in_a_root(resolve_what_is_there(path));
    const std::string folder = slash == std::string::npos ? "."
                               : slash == 0               ? "/"
                                                          : path.substr(0, slash);
    return holds_folder(folder) || is_in_a_root(resolve_what_is_there(path));
  }

  // Where the system has no /proc, the look before it was opened has to do.
  bool is_where_it_was(const Descriptor& file) const {
    std::array<char, PATH_MAX> real;
    const std::string link = fmt::format("/proc/self/fd/{}", file.get());
    const ssize_t size = ::readlink(link.c_str(), real.data(), real.size());
    return size < 0 || is_in_a_root({real.data(), static_cast<std::size_t>(size)});
  }

  std::string root_;
  std::string named_;  // the same, from the system's root on
  StoreAccess access_;
  std::vector<std::string> roots_;  // after all links
  mutable KnownFolders folders_;    // that are in a root
  mutable KnownFolders around_;     // that are around the first one
};

}  // namespace

std::vector<TreeEntry> sorted_entries(const Tree& tree, const std::string& folder) {
  std::vector<TreeEntry> entries;
  tree.list(folder, [&](const TreeEntry& entry) { entries.push_back(entry); });
  std::ranges::sort(entries, {}, &TreeEntry::name);
  return entries;
}

std::vector<std::string> paths_in(const std::string& folder, bool (*is_wanted)(TreeEntry::Kind)) {
  std::vector<std::string> found;
  try {
    for (const TreeEntry& entry : sorted_entries(*disk_tree(), folder.empty() ? "." : folder)) {
      if (is_wanted(entry.kind)) found.push_back(join_path(folder, entry.name));
    }
  } catch (const FileError&) {
  }
  return found;
}

std::shared_ptr<const Tree> disk_tree() {
  static const auto tree = std::make_shared<const DiskTree>();
  return tree;
}

std::shared_ptr<const Tree> bounded_tree(const std::string& root, const StoreAccess& access) {
  return std::make_shared<const BoundedTree>(root, access);
}

std::string_view archive_stem(std::string_view name) {
  for (const std::string_view suffix : {".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

bool is_archive_name(std::string_view name) { return archive_stem(name).size() < name.size(); }

// ---- Keeps a note of every file opened in a hashing tree.

// Hashes one reading of a file from its start.
class HashingTree::Source : public ByteSource {
 public:
  Source(std::shared_ptr<const HashingTree> tree, std::string path, std::uint64_t size,
         std::unique_ptr<ByteSource> source)
      : tree_(std::move(tree)), path_(std::move(path)), size_(size), source_(std::move(source)) {}

  std::size_t read(std::span<char> into) override {
    try {
      const std::size_t count = source_->read(into);
      hash_.add({into.data(), count});
      if (count > 0 && hash_.bytes() == size_) {
        tree_->change_note(path_, [&](Note& note) { note.hash = hash_.hex(); });
      }
      return count;
    } catch (const FileError& error) {
      tree_->change_note(path_, [&](Note& note) {
        if (!note.fault) note.fault = error;
      });
      throw;
    }
  }

 private:
  std::shared_ptr<const HashingTree> tree_;
  std::string path_;
  std::uint64_t size_;
  std::unique_ptr<ByteSource> source_;
  ContentHash hash_;
};

OpenedFile HashingTree::open(const std::string& path) const {
  OpenedFile file = open_noting(path);
  return file.through([tree = shared_from_this(), path, size = file.size()](
                          std::unique_ptr<ByteSource> source) -> std::unique_ptr<ByteSource> {
    if (!tree->note_of(path).hash.empty()) return source;
    return std::make_unique<Source>(tree, path, size, std::move(source));
  });
}

HashedFile HashingTree::hashed(const std::string& path) const {
  const Note before = note_of(path);
  if (!before.hash.empty() && !before.fault) return {*before.facts, before.hash};
  std::string hash = hash_of(open_noting(path));
  if (before.fault) throw FileError(*before.fault);
  return {*note_of(path).facts, std::move(hash)};
}

OpenedFile HashingTree::open_noting(const std::string& path) const {
  try {
    OpenedFile file = tree_->open(path);
    change_note(path, [&](Note& note) {
      if (!note.facts) note.facts = file.facts();
    });
    return file;
  } catch (const FileError& error) {
    change_note(path, [&](Note& note) {
      if (!note.fault) note.fault = error;
    });
    throw;
  }
}

HashingTree::Note HashingTree::note_of(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(normal_path(path));
  return found == notes_.end() ? Note() : found->second;
}

template <typename Change>
void HashingTree::change_note(const std::string& path, const Change& change) const {
  const std::lock_guard lock(mutex_);
  change(notes_[normal_path(path)]);
}

}  // namespace aggregate_power
