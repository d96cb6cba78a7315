// Files on a POSIX system: locks, temporaries, renames and syncs.
#include "base/files/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/files/lock.h"
#include "base/files/nameless_file.h"
#include "base/files/path.h"
#include "base/system/interruption.h"
#include "base/system/sandbox.h"

namespace aggregate_power {
namespace {

std::mutex opened_mutex;
std::set<std::string>* opened_paths = nullptr;

void note_opened(const std::string& path) {
  const std::lock_guard guard(opened_mutex);
  if (opened_paths != nullptr) opened_paths->insert(path);
}

// ---- System calls

struct stat status(int fd, const std::string& path) {
  struct stat found;
  if (fstat(fd, &found) != 0) throw FileError(path, "inspect", errno);
  return found;
}

// Returns nullopt if no file has that name.
std::optional<struct stat> status(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) == 0) return found;
  if (errno == ENOENT) return std::nullopt;
  throw FileError(path, "inspect", errno);
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool leads_to(const std::string& path, int fd) {
  const struct stat opened = status(fd, path);
  const std::optional<struct stat> named = status(path);
  return named && is_same(*named, opened);
}

void require_regular(const struct stat& found, const std::string& path) {
  if (S_ISDIR(found.st_mode)) throw FileError(path, "replace", EISDIR);
  if (!S_ISREG(found.st_mode)) throw FileError(path, "replace a special file", EOPNOTSUPP);
}

int try_lock(int fd, int operation) {
  return retrying([&] { return flock(fd, operation); });
}

// Some file systems have no locks: NFS without its lock service, Lustre mounted without flock, some
// FUSE ones. There is usually one writer, who loses nothing by going on; failing would lose the
// result. Returns false if someone else has the lock.
bool take_lock(int fd, const std::string& path) {
  if (try_lock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) return true;
  throw FileError(path, "lock", errno);
}

// Both names lead to a file at every moment.
bool trade_names(const std::string& a, const std::string& b) {
  return renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

// Whether the file system, the kernel, or a filter of system calls cannot trade names.
bool is_refusal_to_trade(int errno_value) {
  constexpr int kRefusals[] = {EINVAL, ENOSYS, EOPNOTSUPP, EPERM};
  return std::ranges::find(kRefusals, errno_value) != std::end(kRefusals);
}

// ---- Paths

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The path without links and dots. Returns nullopt, with errno set, if it does not exist.
std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (!real) return std::nullopt;
  return real.get();
}

// Returns nullopt if it is not a link.
std::optional<std::string> link_text(const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  if (size >= 0) return std::string(text.data(), static_cast<std::size_t>(size));
  if (errno == EINVAL || errno == ENOENT) return std::nullopt;
  throw FileError(path, "read the link", errno);
}

// The path to rename to. It is nearly always `path` itself, and resolving takes longer.
std::string target_of(const std::string& path) {
  struct stat found;
  const bool is_plain = lstat(path.c_str(), &found) == 0 && !S_ISLNK(found.st_mode);
  return is_plain ? path : resolve_links(path);
}

// ---- Folders

void sync_folder(const std::string& folder, const std::string& path) {
  const Descriptor opened(open_fd(folder, O_RDONLY | O_DIRECTORY));
  if (opened.get() >= 0 && retrying([&] { return fsync(opened.get()); }) == 0) return;
  // A folder that we may write to but not list cannot be opened, and some file systems cannot sync
  // a folder (EINVAL). The change in it is made, and complete for every reader.
  if (errno != EACCES && errno != EINVAL) throw FileError(path, "sync its folder", errno);
}

// Creates the missing folders of a path, and (at once) syncs all of it: a run that was killed may
// have created a folder without reaching its sync.
void make_folder(const std::string& folder, Sync sync) {
  const std::string above = folder_of(folder);
  if (above == folder) return;
  struct stat found;
  const bool is_missing = stat(folder.c_str(), &found) != 0 && errno == ENOENT;
  if (sync == Sync::later && !is_missing) return;
  make_folder(above, sync);
  if (is_missing && mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    throw FileError(folder, "make folder", errno);
  }
  if (sync == Sync::later) return;
  if (is_missing) {
    sync_folder(above, folder);
  } else {
    const Descriptor opened(open_fd(above, O_RDONLY | O_DIRECTORY));
    if (opened.get() >= 0) std::ignore = retrying([&] { return fsync(opened.get()); });
  }
}

// A folder that stays the same one, whatever takes its name, and a file by it.
using HeldFile = std::pair<std::shared_ptr<const Descriptor>, std::string>;

void require_in(const std::string& path, const std::string& real, const std::string& within) {
  if (is_in(real, resolve_what_is_there(within))) return;
  throw FileError(path, fmt::format("leads out of {}, to {}, and is not written", within, real));
}

// Holds the folder of `target`, which must be in `within` after all links.
HeldFile held_in_folder(const std::string& path, const std::string& target,
                        const std::string& within) {
  auto folder =
      std::make_shared<const Descriptor>(open_fd(folder_of(target), O_PATH | O_DIRECTORY));
  if (folder->get() < 0) throw FileError(path, "open its folder", errno);
  const std::string held = fmt::format("/proc/self/fd/{}", folder->get());
  const auto real = link_text(held);
  if (!real) return {nullptr, target};  // without /proc, the look before has to do
  require_in(path, *real, within);
  return {std::move(folder), join_path(held, last_name(target))};
}

// ---- Temporaries

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::string_view kTemporaryEnd = ".aggregate-power.tmp";
constexpr std::size_t kRandomSize = 8;
constexpr std::size_t kAroundName = 2 + kRandomSize + kTemporaryEnd.size();  // 2: the dots

std::string random_letters(const std::string& path) {
  std::string letters(kRandomSize, '\0');
  if (retrying([&] { return getrandom(letters.data(), letters.size(), 0); }) < 0) {
    throw FileError(path, "name a temporary", errno);
  }
  for (char& letter : letters) letter = kLetters[static_cast<unsigned char>(letter) % 32];
  return letters;
}

std::string temporary_beside(const std::string& target) {
  std::string name(last_name(target));
  if (name.size() + kAroundName > NAME_MAX) {
    std::size_t size = NAME_MAX - kAroundName;
    // Some file systems refuse half a UTF-8 character.
    while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xC0) == 0x80) --size;
    name.resize(size);
  }
  return join_path(folder_of(target),
                   '.' + name + '.' + random_letters(target) + std::string(kTemporaryEnd));
}

}  // namespace

std::string unforeseen_path() { return temporary_beside(join_path(temporary_folder(), "none")); }

namespace {

// File systems without owners and modes refuse to set even the values that they have, so only what
// differs is set.
void keep_owner(int fd, const struct stat& kept, const std::string& path) {
  const struct stat now = status(fd, path);
  if (now.st_uid == kept.st_uid && now.st_gid == kept.st_gid) return;
  // EINVAL: an owner unknown to this user namespace.
  const auto change = [&](uid_t owner) {
    if (retrying([&] { return fchown(fd, owner, kept.st_gid); }) == 0) return true;
    if (errno == EPERM || errno == EINVAL) return false;
    throw FileError(path, "keep the owner", errno);
  };
  constexpr uid_t kAsItIs = static_cast<uid_t>(-1);
  if (!change(kept.st_uid)) std::ignore = change(kAsItIs);
}

void keep_mode(int fd, const struct stat& kept, const std::string& path) {
  const mode_t mode = kept.st_mode & 07777;
  if ((status(fd, path).st_mode & 07777) == mode) return;
  if (retrying([&] { return fchmod(fd, mode); }) == 0) return;
  throw FileError(path, "keep the mode", errno);
}

// A living writer holds the lock. A writer that has created its file but not yet locked it finds
// the name gone when it gets the lock, and creates another.
void remove_if_stale(const std::string& path) {
  // LOCK_EX over NFS needs a file open for writing, but the mode may already be a read-only one.
  int fd = open_fd(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == EACCES) fd = open_fd(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const Descriptor file(fd);
  if (file.get() < 0 || !S_ISREG(status(file.get(), path).st_mode)) return;
  if (try_lock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Its writer may have renamed it after it was listed.
  if (leads_to(path, file.get())) std::ignore = unlink(path.c_str());
}

void remove_stale_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), &closedir);
  if (!listing) return;
  while (const dirent* entry = readdir(listing.get())) {
    if (is_temporary_name(entry->d_name)) remove_if_stale(join_path(folder, entry->d_name));
  }
}

bool is_first_look(const std::string& folder) {
  constexpr std::size_t kMostRemembered = 4096;  // of possibly millions
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard guard(mutex);
  if (seen.size() == kMostRemembered) seen.clear();
  return seen.insert(folder).second;
}

// ---- Reading

bool is_standard_input(const struct stat& found) {
  struct stat input;
  return fstat(STDIN_FILENO, &input) == 0 && is_same(input, found);
}

// A pipe that was made without a name, as the shell's <(...) is: who made it writes to it.
bool is_nameless_pipe(const std::string& path) {
  struct statfs system;
  return statfs(path.c_str(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

// A device may never end, or do something when it is opened; a pipe in a folder may have nobody at
// its other end. `done`: "read" or "written".
void refuse_special(const std::string& path, const char* done) {
  const dev_t null = makedev(1, 3);
  struct stat found;
  if (stat(path.c_str(), &found) != 0 || is_standard_input(found)) return;
  const bool is_device = S_ISBLK(found.st_mode) || S_ISCHR(found.st_mode);
  if (is_device && found.st_rdev != null) {
    throw FileError(path, fmt::format("is a device, and is not {}; give a file or a pipe", done));
  }
  if (S_ISFIFO(found.st_mode) && !is_nameless_pipe(path)) {
    const bool is_read = done == std::string_view("read");
    throw FileError(path,
                    fmt::format("is a named pipe, and is not {}; give a file, or {}", done,
                                is_read ? "/dev/stdin that leads to the pipe"
                                        : "- for standard output if the option's help names it"));
  }
}

// What programs write has no large holes. A file that is nearly all holes costs nothing to make,
// and hours to read.
void refuse_holes(int fd, const struct stat& found, const std::string& path) {
  constexpr off_t kMostBytes = off_t{1} << 30;
  constexpr off_t kStatBlock = 512;
  const off_t size = found.st_size;
  if (!S_ISREG(found.st_mode) || size - found.st_blocks * kStatBlock <= kMostBytes) return;
  off_t bytes = 0;
  const off_t was = lseek(fd, 0, SEEK_CUR);
  for (off_t at = 0; at < size && bytes <= kMostBytes;) {
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole < 0 || hole >= size) break;
    const off_t data = lseek(fd, hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) break;
    at = data < 0 ? size : data;
    bytes += at - hole;
  }
  std::ignore = lseek(fd, was, SEEK_SET);
  if (bytes <= kMostBytes) return;
  throw FileError(
      path,
      "has holes of more than 1 GiB, where nothing was written, and is not read; write it again without them");
}

// Opens without waiting for the other end of what may have become a pipe since it was looked at.
int open_at_once(const std::string& path, int flags, const char* done) {
  refuse_special(path, done);
  const int fd = open_fd(path, flags | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd >= 0) std::ignore = fcntl(fd, F_SETFL, flags & O_APPEND);
  return fd;
}

bool is_pipe_of_standard_input(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISFIFO(found.st_mode) && is_standard_input(found);
}

int opened_for_reading(const std::string& path) {
  // A duplicate of standard input, so that there is always something to close.
  if (path == "-" || is_pipe_of_standard_input(path))
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  note_opened(path);
  return open_at_once(path, O_RDONLY, "read");
}

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path)
      : FileSource(path == "-" ? "standard input" : path,
                   std::make_shared<const Descriptor>(opened_for_reading(path))) {}
  FileSource(std::string name, std::shared_ptr<const Descriptor> file)
      : name_(std::move(name)), file_(std::move(file)) {
    if (file_->get() < 0) throw FileError(name_, "open", errno);
    refuse_holes(file_->get(), status(file_->get(), name_), name_);
    std::ignore = posix_fadvise(file_->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  std::size_t read(std::span<char> into) override {
    const ssize_t count = retrying([&] { return ::read(file_->get(), into.data(), into.size()); });
    if (count < 0) throw FileError(name_, "read", errno);
    return static_cast<std::size_t>(count);
  }

 private:
  std::string name_;
  std::shared_ptr<const Descriptor> file_;
};

// The bytes of an open file, independent of the position of other readers.
class RangeSource : public ByteSource {
 public:
  explicit RangeSource(const OpenedFile& file) : file_(file) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t count = file_.read_at(at_, into);
    at_ += count;
    return count;
  }

 private:
  OpenedFile file_;
  std::uint64_t at_ = 0;
};

}  // namespace

WatchOpened::WatchOpened(std::set<std::string>& paths) {
  const std::lock_guard guard(opened_mutex);
  opened_paths = &paths;
}

WatchOpened::~WatchOpened() {
  const std::lock_guard guard(opened_mutex);
  opened_paths = nullptr;
}

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  return std::make_unique<FileSource>(path);
}

FileFacts facts_of(const struct stat& found) {
  // Some file systems store times that do not fit 64 bits of nanoseconds: 1684 to 2255 are exact.
  constexpr std::int64_t kFarthestS = 9'000'000'000;
  const std::int64_t seconds =
      std::clamp<std::int64_t>(found.st_mtim.tv_sec, -kFarthestS, kFarthestS);
  return {static_cast<std::uint64_t>(found.st_size),
          seconds * 1'000'000'000 + found.st_mtim.tv_nsec};
}

OpenedFile::OpenedFile(const std::string& path)
    : name_(path), file_(std::make_shared<const Descriptor>(opened_for_reading(path))) {
  if (file_->get() < 0) throw FileError(path, "open", errno);
  const struct stat found = status(file_->get(), path);
  refuse_holes(file_->get(), found, path);
  facts_ = facts_of(found);
  std::ignore = posix_fadvise(file_->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

OpenedFile::OpenedFile(std::string name, std::shared_ptr<const Descriptor> file,
                       std::uint64_t offset, FileFacts facts)
    : name_(std::move(name)), file_(std::move(file)), offset_(offset), facts_(facts) {}

std::size_t OpenedFile::read_at(std::uint64_t at, std::span<char> into) const {
  throw_if_interrupted();
  if (at >= size()) return 0;
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size() - at)));
  const ssize_t count = retrying([&] {
    return pread(file_->get(), into.data(), into.size(), static_cast<off_t>(offset_ + at));
  });
  if (count < 0) throw FileError(name_, "read", errno);
  return static_cast<std::size_t>(count);
}

std::unique_ptr<ByteSource> OpenedFile::source() const {
  auto source = std::make_unique<RangeSource>(*this);
  if (wrap_) return wrap_(std::move(source));
  return source;
}

OpenedFile OpenedFile::through(Wrap wrap) const {
  OpenedFile file = *this;
  file.wrap_ = [inner = wrap_, outer = std::move(wrap)](std::unique_ptr<ByteSource> source) {
    return outer(inner ? inner(std::move(source)) : std::move(source));
  };
  return file;
}

std::shared_ptr<const Descriptor> open_regular(const std::string& path, FileFacts& facts) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) throw FileError(path, "open", errno);
  const auto is_regular = [&] { return S_ISREG(found.st_mode); };
  if (!is_regular()) throw FileError(path, "is not a regular file");  // opening it may do something
  auto file = std::make_shared<const Descriptor>(open_fd(path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
  if (file->get() < 0) throw FileError(path, "open", errno);
  found = status(file->get(), path);
  if (!is_regular()) throw FileError(path, "is not a regular file");
  refuse_holes(file->get(), found, path);
  note_opened(path);
  facts = facts_of(found);
  return file;
}

OpenedFile opened_regular(const std::string& path) {
  FileFacts facts;
  auto file = open_regular(path, facts);
  std::ignore = posix_fadvise(file->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return OpenedFile(path, std::move(file), 0, facts);
}

std::unique_ptr<ByteSource> regular_source(const std::string& path) {
  FileFacts facts;
  return std::make_unique<FileSource>(path, open_regular(path, facts));
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = retrying([&] { return write(fd, bytes.data(), bytes.size()); });
    if (count < 0) throw FileError(path, "write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

int opened_for_writing(const std::string& path, int flags) {
  const int fd = open_at_once(replaced_file(path), flags | O_CREAT, "written");
  if (fd < 0) throw FileError(path, "open for writing", errno);
  return fd;
}

bool is_regular_file(const std::string& path) noexcept {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool holds(const std::string& path, std::string_view bytes) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::uint64_t>(found.st_size) != bytes.size()) {
    return false;
  }
  try {
    return read_up_to(*regular_source(path), bytes.size() + 1) == bytes;
  } catch (const FileError&) {
    return false;
  }
}

std::string file_identity(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? fmt::format("\n{} {}", found.st_dev, found.st_ino)
                                         : path;
}

bool is_same_file(const std::string& a, const std::string& b) {
  return a == b || file_identity(a) == file_identity(b);
}

std::string resolve_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    if (const auto real = real_path(at)) return *real;
    if (errno != ENOENT) throw FileError(path, "resolve", errno);
    // The last name is free, or a link whose target does not exist yet.
    const auto folder = real_path(folder_of(at));
    if (!folder) throw FileError(path, "find its folder", errno);
    if (last_name(at).empty()) throw FileError(path, "resolve", ENOENT);
    std::string end = join_path(*folder, last_name(at));
    const auto link = link_text(end);
    if (!link) return end;
    at = link->starts_with('/') ? *link : join_path(*folder, *link);
  }
  throw FileError(path, "resolve", ELOOP);
}

std::string replaced_file(const std::string& path) {
  std::string target = resolve_links(path);
  if (last_name(target) == last_name(path) || !link_text(path)) return target;
  throw FileError(path,
                  fmt::format("leads to {}, which is another file, and is not written", target));
}

std::string resolve_what_is_there(const std::string& path) {
  std::string at = path;
  std::string missing;
  while (true) {
    try {
      return resolve_links(at) + missing;
    } catch (const FileError&) {
      const std::string above = folder_of(at);
      if (above == at) return at + missing;
      missing = fmt::format("/{}{}", last_name(at), missing);
      at = above;
    }
  }
}

bool is_in(std::string_view path, std::string_view folder) {
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/';
}

FileLock::FileLock(const std::string& path) : FileLock() { *this = *take(path, true); }

std::optional<FileLock> FileLock::take(const std::string& path, bool wait) {
  for (;;) {
    FileLock lock;
    lock.fd_ = open_fd(path, O_RDWR | O_NOCTTY);
    if (lock.fd_ < 0) throw FileError(path, "open for writing", errno);
    require_regular(status(lock.fd_, path), path);
    if (!take_lock(lock.fd_, path)) {
      if (!wait) return std::nullopt;
      wait_for_lock(lock.fd_, path);
    }
    if (leads_to(path, lock.fd_)) return lock;
    // It was replaced while we waited: try again.
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

void require_replaceable(const std::string& path, bool make_folders) {
  const auto require_folder = [&](const std::string& folder) {
    if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      throw FileError(path, "create a temporary beside it", errno);
    }
    struct stat found;
    if (stat(folder.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) {
      throw FileError(path, "create a temporary beside it", ENOTDIR);
    }
  };
  // The folder that make_folder() would have to create, starting from the nearest existing one.
  std::string folder = folder_of(path);
  bool is_made = false;
  while (make_folders && folder_of(folder) != folder && !status(folder)) {
    if (last_name(folder).size() > NAME_MAX) throw FileError(folder, "make folder", ENAMETOOLONG);
    is_made = true;
    folder = folder_of(folder);
  }
  if (last_name(path).size() > NAME_MAX) throw FileError(path, "inspect", ENAMETOOLONG);
  if (is_made) return require_folder(folder);
  const std::string target = replaced_file(path);
  const std::optional<struct stat> old = status(target);
  if (old) require_regular(*old, path);
  require_folder(folder_of(target));
}

PendingFile::PendingFile(const std::string& path, std::string_view bytes, bool make_folders,
                         Sync sync, const std::string& within)
    : PendingFile() {
  sync_ = sync;
  open(path, make_folders, within);
  write_all(fd_, bytes, path);
  complete();
}

void PendingFile::open(const std::string& path, bool make_folders, const std::string& within) {
  path_ = path;
  if (make_folders && !within.empty()) {
    require_in(path, resolve_what_is_there(folder_of(path)), within);
  }
  if (make_folders) make_folder(folder_of(path), sync_);
  target_ = replaced_file(path);
  if (!within.empty()) std::tie(folder_, target_) = held_in_folder(path, target_, within);
  const std::optional<struct stat> old = status(target_);
  if (old) require_regular(*old, path);
  create_temporary(old ? 0600 : 0666);  // 0600: private until owner and mode are set
}

void PendingFile::complete() {
  const std::optional<struct stat> old = status(target_);
  if (old) keep_owner(fd_, *old, path_);
  if (old) keep_mode(fd_, *old, path_);  // last, because a new owner clears some bits
  written_ = facts_of(status(fd_, path_));
  if (sync_ == Sync::later) return;
  if (retrying([&] { return fsync(fd_); }) != 0) throw FileError(path_, "sync", errno);
}

PendingFile::~PendingFile() { discard(); }

void PendingFile::create_temporary(mode_t mode) {
  for (;;) {
    std::string name = temporary_beside(target_);
    fd_ = open_fd(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) throw FileError(path_, "create a temporary beside it", errno);
    temporary_ = std::move(name);
    if (!take_lock(fd_, path_)) wait_for_lock(fd_, path_);
    if (leads_to(temporary_, fd_)) return;
    // Another run took it for stale before it was locked, and removed it.
    temporary_.clear();
    close(std::exchange(fd_, -1));
  }
}

void PendingFile::discard_name() noexcept {
  if (!temporary_.empty()) std::ignore = unlink(temporary_.c_str());
  temporary_.clear();
}

void PendingFile::discard() noexcept {
  discard_name();
  if (fd_ >= 0) close(std::exchange(fd_, -1));  // last: locked as long as the name exists
}

void PendingFile::set_modified(const timespec& time) {
  const timespec times[] = {{0, UTIME_OMIT}, time};
  if (futimens(fd_, times) != 0) throw FileError(path_, "keep the time", errno);
}

void PendingFile::commit() {
  assert(!temporary_.empty());
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    const FileError error(path_, "replace", errno);
    discard();
    throw error;
  }
  temporary_.clear();
  settle();
}

void PendingFile::commit_unless_there() {
  const std::optional<struct stat> old = status(target_);
  if (!old || old->st_size != status(fd_, path_).st_size ||
      sha256_of(OpenedFile(target_)) != sha256_of(OpenedFile(temporary_))) {
    return commit();
  }
  discard();
  sync_in_place(path_);
}

void PendingFile::commit_over(std::string_view expected) {
  assert(!temporary_.empty());
  if (!holds(target_, expected)) {
    discard();
    if (!status(target_)) throw FileError(path_, "open", ENOENT);
    throw FileChanged(path_);
  }
  if (!trade_names(temporary_, target_)) {
    if (is_refusal_to_trade(errno)) return commit();
    const FileError error(path_, "replace", errno);
    discard();
    throw error;
  }
  if (!holds(temporary_, expected)) {
    put_back();
    throw FileChanged(path_);
  }
  discard_name();  // the old file's; if this fails, a later run removes it
  settle();
}

// The temporary's name leads to what someone else wrote; that goes back to its place.
void PendingFile::put_back() {
  if (trade_names(temporary_, target_)) {
    const bool is_ours = leads_to(temporary_, fd_) && facts_of(status(fd_, path_)) == written_;
    // The file changed once more in between: the newest version stays.
    if (!is_ours) std::ignore = trade_names(temporary_, target_);
    return discard();
  }
  const int why = errno;
  const std::string name = std::exchange(temporary_, {});
  if (rename(name.c_str(), target_.c_str()) != 0) {
    const std::string shown = join_path(folder_of(path_), last_name(name));
    throw FileError(path_, "put back a change, which is now in " + shown, why);
  }
}

void PendingFile::settle() {
  in_place_ = true;
  if (sync_ == Sync::at_once) sync_folder(folder_of(target_), path_);
}

// What a keeper is asked, and how its answer ends.
static constexpr char kCommit = '+', kDiscard = '-', kEndOfAnswer = '\n';

StreamedFile::StreamedFile(const std::string& path) {
  remove_stale_temporaries(path);
  file_.open(path, false, {});
  int ends[2] = {-1, -1};
  const bool is_paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  channel_ = std::make_unique<const Descriptor>(ends[0]);
  const Descriptor keepers(ends[1]);
  keeper_ = is_paired ? fork() : -1;
  if (keeper_ < 0) throw FileError(path, "start the process that puts it in place", errno);
  if (keeper_ == 0) keep(keepers.get());
  file_.temporary_.clear();
}

StreamedFile::~StreamedFile() {
  if (keeper_ > 0) std::ignore = answer_to(kDiscard);
}

// The keeper. It ends with the other process, which may be ended by any of these signals.
void StreamedFile::keep(int channel) {
  for (const int each : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) {
    std::ignore = ::signal(each, SIG_IGN);
  }
  channel_.reset();  // else it would never see the end of the other process
  std::string answer;
  char request = kDiscard;
  std::ignore = retrying([&] { return read(channel, &request, 1); });
  try {
    if (request == kCommit) file_.commit_unless_there();
  } catch (const FileError& error) {
    answer = std::string(error.what()).substr(file_.path_.size() + 2);
  }
  file_.discard();
  answer += kEndOfAnswer;
  std::ignore = write(channel, answer.data(), answer.size());
  _exit(0);
}

// What the keeper finds wrong; empty: it did what was requested.
std::string StreamedFile::answer_to(char request) {
  std::string answer;
  // A keeper that was killed would end this process by a signal.
  const bool is_alive = waitpid(keeper_, nullptr, WNOHANG) == 0;
  if (is_alive && write(channel_->get(), &request, 1) == 1) {
    char byte = 0;
    while (retrying([&] { return read(channel_->get(), &byte, 1); }) == 1) answer += byte;
    std::ignore = retrying([&] { return waitpid(keeper_, nullptr, 0); });
  }
  keeper_ = 0;
  if (!answer.ends_with(kEndOfAnswer)) return "cannot replace: its keeper was killed";
  answer.pop_back();
  return answer;
}

void StreamedFile::append(std::string_view bytes) { write_all(file_.fd_, bytes, file_.path_); }

void StreamedFile::commit() {
  file_.complete();
  const std::string fault = answer_to(kCommit);
  if (!fault.empty()) throw FileError(file_.path_, fault);
}

void sync_in_place(const std::string& path) {
  const std::string target = resolve_links(path);
  const Descriptor file(open_fd(target, O_RDONLY | O_NONBLOCK));
  if (file.get() < 0) throw FileError(path, "open", errno);
  if (retrying([&] { return fsync(file.get()); }) != 0) throw FileError(path, "sync", errno);
  sync_folder(folder_of(target), path);
}

FormerFile::FormerFile(const std::string& path, std::string within)
    : path_(path), within_(std::move(within)) {
  const std::optional<struct stat> found = status(path);
  if (!found) return;
  require_regular(*found, path);
  bytes_ = read_file(path, kAuditRecordFile);
  modified_ = found->st_mtim;
}

void FormerFile::put_back() const {
  if (!bytes_) return remove_file(path_, within_);
  PendingFile file(path_, *bytes_, false, Sync::at_once, within_);
  file.set_modified(modified_);
  file.commit();
}

void remove_file(const std::string& path, const std::string& within) {
  HeldFile file = {nullptr, target_of(path)};
  if (!within.empty()) file = held_in_folder(path, file.second, within);
  if (unlink(file.second.c_str()) != 0) throw FileError(path, "remove", errno);
  sync_folder(folder_of(file.second), path);
}

std::vector<std::string> one_folder_each(const std::set<std::string>& folders) {
  std::set<dev_t> seen;
  std::vector<std::string> result;
  for (const std::string& folder : folders) {
    struct stat found;
    if (stat(folder.c_str(), &found) == 0 && seen.insert(found.st_dev).second) {
      result.push_back(folder);
    }
  }
  return result;
}

void sync_file_systems(std::span<const std::string> folders) {
  for (const std::string& folder : folders) {
    const Descriptor opened(open_fd(folder, O_RDONLY | O_DIRECTORY));
    if (opened.get() >= 0 && retrying([&] { return syncfs(opened.get()); }) == 0) continue;
    // As in sync_folder(); a folder that a link out of the store leads to is not written at all.
    if (opened.get() >= 0 || errno != EACCES) {
      throw FileError(folder, "sync its file system", errno);
    }
  }
}

std::string folder_behind(const std::string& path) noexcept {
  try {
    return folder_of(target_of(path));
  } catch (const FileError&) {
    return path;
  }
}

bool is_temporary_name(std::string_view name) {
  if (name.size() < kAroundName || !name.starts_with('.') || !name.ends_with(kTemporaryEnd)) {
    return false;
  }
  name.remove_suffix(kTemporaryEnd.size());
  const std::string_view letters = name.substr(name.size() - kRandomSize);
  return letters.find_first_not_of(kLetters) == std::string_view::npos &&
         name[name.size() - kRandomSize - 1] == '.';
}

void remove_stale_temporaries(const std::string& target) noexcept {
  try {
    if (!is_first_look(folder_of(target))) return;
    const std::string folder = folder_of(target_of(target));
    if (folder == folder_of(target) || is_first_look(folder)) remove_stale_in(folder);
  } catch (...) {  // a later run removes what is left
  }
}

void replace_file(const std::string& path, std::string_view bytes) {
  remove_stale_temporaries(path);
  if (holds(path, bytes)) return sync_in_place(path);
  PendingFile(path, bytes).commit();
}

void refuse_other_file(std::string_view option, const std::string& path, std::string_view start,
                       std::string_view what) {
  if (!is_regular_file(path)) return;
  const std::string begin = read_up_to(*open_source(path), start.size());
  if (begin.empty() || begin == start) return;
  throw Error(
      fmt::format("{} {}: the file exists and is no {}; it is left as it is: give another file",
                  option, printable_path(path), what));
}

void replace_output(std::string_view option, const std::string& path, std::string_view bytes,
                    std::string_view start, std::string_view what) {
  refuse_other_file(option, path, start, what);
  replace_file(path, bytes);
}

// ---- What the system says against a file.

namespace {

bool is_outside_of_sandbox(const std::string& path) {
  if (confined_to().empty()) return false;
  const std::string real = resolve_what_is_there(path);
  return std::ranges::none_of(confined_to(),
                              [&](const std::string& place) { return is_in(real, place); });
}

}  // namespace

FileError::FileError(const std::string& path, const std::string& action, int errno_value)
    : std::system_error(errno_value, std::generic_category()),
      text_(path + ": cannot " + action + ": " + code().message()) {
  if (errno_value == EACCES && is_outside_of_sandbox(path)) {
    text_ += "; it is outside of what options name: name its folder, or give --no-sandbox";
  }
}

FileError::FileError(const std::string& path, const std::string& what)
    : std::system_error(EIO, std::generic_category()), text_(path + ": " + what) {}

FileChanged::FileChanged(const std::string& path)
    : FileError(path, "was changed while it was in use") {}

// ---- Reads whole files in pieces.

std::string too_large(const FileKind& kind) {
  return fmt::format("is larger than {} MiB, the most that {} may have", kind.most_bytes / kMiB,
                     kind.name);
}

std::string read_whole(ByteSource& source, const std::string& name, const FileKind& kind) {
  std::string bytes = read_up_to(source, kind.most_bytes + 1);
  if (bytes.size() > kind.most_bytes) throw FileError(name, too_large(kind));
  return bytes;
}

std::string read_whole(const OpenedFile& file, const FileKind& kind) {
  if (file.size() > kind.most_bytes) throw FileError(file.name(), too_large(kind));
  return read_whole(*file.source(), file.name(), kind);
}

std::string read_file(const std::string& path, const FileKind& kind) {
  return read_whole(*regular_source(path), path, kind);
}

}  // namespace aggregate_power
