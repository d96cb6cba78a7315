// The tree on disk, and the names of archives.
#include "base/files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

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

  OpenedFile open(const std::string& path) const override {
    // Opening a pipe would wait for its writer.
    struct stat found;
    if (stat(path.c_str(), &found) != 0) throw FileError(path, "open", errno);
    if (!S_ISREG(found.st_mode)) throw FileError(path, "is not a regular file");
    return OpenedFile(path);
  }

  int depth() const override { return 0; }
};

}  // namespace

std::shared_ptr<const Tree> disk_tree() {
  static const auto tree = std::make_shared<const DiskTree>();
  return tree;
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

}  // namespace aggregate_power
