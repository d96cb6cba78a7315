// Reads files as streams, and replaces them in one durable step.
//
// A replacement is written to a temporary in the target's own folder and synced, then renamed over
// the target, then the folder is synced: a reader sees the old bytes or the new, never a part, and
// after a power cut one of the two is there whole. A link is followed to a file of its own name,
// which is replaced, and the link stays. A link to another name is refused: whoever prepared a
// folder does not choose what is replaced.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/system/byte_source.h"

struct stat;

namespace aggregate_power {

// The system's error for a file: "agg.json: cannot open: Permission denied". The file is named as
// the caller named it.
class FileError : public std::system_error {
 public:
  // `action` reads as "cannot ...": "open", "write", "replace".
  FileError(const std::string& path, const std::string& action, int errno_value);
  // For faults without an error number of the system.
  FileError(const std::string& path, const std::string& what);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// A file differs from what its replacement was made from: "agg.json: was changed while it was in
// use".
class FileChanged : public FileError {
 public:
  explicit FileChanged(const std::string& path);
};

class Descriptor;

// Opens a file, or standard input for "-" (left open afterwards, and called "standard input" in
// errors). A pipe without a name may be read, as a shell makes it of <(...) and of |. A named pipe
// may not, since nobody may ever write to it, neither a device, except /dev/null and the terminal,
// nor a file with holes of more than 1 GiB, here as wherever a file is opened for reading. Throws
// FileError if it cannot be opened; its read() throws FileError too (reading a directory fails
// there).
std::unique_ptr<ByteSource> open_source(const std::string& path);

// Facts that show whether a file is still the same one.
struct FileFacts {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  bool operator==(const FileFacts&) const = default;
};

FileFacts facts_of(const struct stat& found);

// A file that is read more than once. It stays the same file, even if another takes its name, and
// ends where it ended when it was opened, even if someone is still writing to it. It may also be a
// part of a larger file. Copies share the descriptor; any number of threads may read.
class OpenedFile {
 public:
  // Throws FileError.
  explicit OpenedFile(const std::string& path);
  // The `facts.bytes` bytes of `file` starting at `offset`. `name` is for messages.
  OpenedFile(std::string name, std::shared_ptr<const Descriptor> file, std::uint64_t offset,
             FileFacts facts);

  // The name used in messages.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return facts_.bytes; }
  // The facts at the moment of opening.
  const FileFacts& facts() const { return facts_; }
  // Fills the front of `into` with the bytes from `at` on and returns their number, 0 only at the
  // end. Short counts are allowed. Throws FileError, and Interrupted after a signal, so that a long
  // recording or archive does not delay the end.
  std::size_t read_at(std::uint64_t at, std::span<char> into) const;
  // Reads the bytes from the start; may outlive this object. Its read() throws FileError.
  std::unique_ptr<ByteSource> source() const;
  // The same file, with its source() passed through `wrap`.
  using Wrap = std::function<std::unique_ptr<ByteSource>(std::unique_ptr<ByteSource>)>;
  OpenedFile through(Wrap wrap) const;

 private:
  std::string name_;
  std::shared_ptr<const Descriptor> file_;
  std::uint64_t offset_ = 0;
  FileFacts facts_;
  Wrap wrap_;
};

// Opens a regular file for reading, and says in `facts` which. Never waits, as opening a pipe
// would, whatever gets its name meanwhile. Throws FileError for anything else.
std::shared_ptr<const Descriptor> open_regular(const std::string& path, FileFacts& facts);
// The same, to be read more than once, and to be read once, also after a signal.
OpenedFile opened_regular(const std::string& path);
std::unique_ptr<ByteSource> regular_source(const std::string& path);

// Opens a file, which is made if there is none, for writing in pieces, with the flags of open().
// Returns its descriptor, which the caller closes. Links and special files are refused as in a
// replacement and in open_source(). Throws FileError.
int opened_for_writing(const std::string& path, int flags);
// Throws FileError.
void write_all(int fd, std::string_view bytes, const std::string& path);

// Whether `path` leads to a regular file. Also false if that cannot be determined.
bool is_regular_file(const std::string& path) noexcept;

// Whether `path` leads to a regular file of exactly these bytes. Also false if that cannot be
// determined.
bool holds(const std::string& path, std::string_view bytes);

// Identifies the file that `path` leads to, whatever its names; for a file that cannot be
// inspected, its name. Paths with equal identities lead to one file.
std::string file_identity(const std::string& path);

// Whether both lead to one file, or are one name.
bool is_same_file(const std::string& a, const std::string& b);

// Where `path` leads after all links, as an absolute path: the file that a replacement would
// replace. The last component need not exist. Throws FileError (a loop of links, a missing folder).
std::string resolve_links(const std::string& path);

// The same for any path: names that do not exist, or cannot be resolved, are kept as they are.
std::string resolve_what_is_there(const std::string& path);

// Whether `path` is `folder` or below it. Both must come from resolve_what_is_there().
bool is_in(std::string_view path, std::string_view folder);

// Exclusive use of an existing file among those who lock it this way. Taking it waits until the
// lock is free, reports a long wait, and throws LockTimeout at its end (base/files/lock_wait.h) or
// Interrupted. The lock is on the file itself (flock), so that nothing is left over when the holder
// dies; if the file was replaced during the wait, the new one is locked. It covers one replacement:
// afterwards the lock is on the former file, and the new one is free. Needs write permission for
// the file: throws FileError if it cannot be opened for writing, or is not a regular file. If the
// file system has no locks, there is no waiting and no exclusion.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  // The same. Returns nullopt if someone else has the lock and `wait` is false.
  static std::optional<FileLock> take(const std::string& path, bool wait);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

 private:
  FileLock() = default;  // delegated to, so that the destructor cleans up after a throw

  int fd_ = -1;
};

// The file that a replacement of `path` would replace, after all links. Throws FileError as
// resolve_links() does, and if a link leads to a file of another name.
std::string replaced_file(const std::string& path);

// Throws FileError if a PendingFile or its commit() would, as far as that can be seen without
// writing.
void require_replaceable(const std::string& path, bool make_folders = false);

// When written bytes are made to survive a power cut: at once, or later by the caller for many
// files together, with sync_file_systems().
enum class Sync { at_once, later };

// New bytes for a file: on disk in a temporary beside it, but not yet in place.
class PendingFile {
 public:
  // Writes and (at once) syncs the temporary: `.NAME.XXXXXXXX.aggregate-power.tmp`, with a unique X
  // (and NAME shortened if the whole would be too long), never following or overwriting an existing
  // file. Mode and owner are those of the file at `path`; without one, the mode is 0666 less the
  // umask. The owner is kept as far as permissions allow; access lists and other extended
  // attributes are not. With `make_folders`, missing folders above `path` are created. Unless
  // `within` is empty, the file must be in that folder after all links, and stays there: its own
  // folder is held open, so that it cannot be exchanged for a link to another one from then on.
  // Throws FileError, also if `path` leads to anything but a regular file; then no temporary is
  // left over, but folders just created stay.
  PendingFile(const std::string& path, std::string_view bytes, bool make_folders = false,
              Sync sync = Sync::at_once, const std::string& within = {});
  // Removes the temporary unless it was committed.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Renames the temporary over the target, then (at once) syncs the folder. The new file stays
  // locked, as by a FileLock, until this object is destroyed. To be called once. Throws FileError.
  // If the rename failed, the target is as it was and the temporary is removed; if only the sync
  // failed, the new bytes are in place but may not survive a power cut.
  void commit();
  // The same for an existing file, and only while it contains `expected`: otherwise throws
  // FileChanged and leaves the file as whoever changed it left it. The temporary and the target
  // trade names, and trade back if the old file is not what was expected, so no change made before
  // the trade is lost. If the file system cannot trade names, a change in the microseconds between
  // the last look and the rename is lost. A writer that opened the file before and writes to it
  // afterwards writes to a file that is gone, as with any replacement.
  void commit_over(std::string_view expected);
  // Sets the time of the new file, before commit(). Throws FileError.
  void set_modified(const timespec& time);
  // Whether the new bytes are in place, even if the sync after the rename failed.
  bool in_place() const { return in_place_; }

 private:
  friend class StreamedFile;
  PendingFile() = default;  // delegated to, so that the destructor cleans up after a throw

  void open(const std::string& path, bool make_folders, const std::string& within);
  void create_temporary(mode_t mode);
  void complete();
  void commit_unless_there();
  void discard() noexcept;
  void discard_name() noexcept;
  void put_back();
  void settle();

  std::string path_;       // as given, for errors
  std::string target_;     // after links, by its held folder if there is one
  std::string temporary_;  // empty: there is none
  Sync sync_ = Sync::at_once;
  FileFacts written_;
  std::shared_ptr<const Descriptor> folder_;
  int fd_ = -1;  // locked while the temporary exists, so that others know it is in use
  bool in_place_ = false;
};

// New bytes for a file, which come in pieces. A process of its own, forked from this one, has the
// temporary's name: it puts it in place when that is asked for, and removes it if this object or
// this process ends before. So this process needs no permissions for the file's folder, and leaves
// nothing there if it is killed.
class StreamedFile {
 public:
  // Creates the temporary. Throws FileError, as a PendingFile does.
  explicit StreamedFile(const std::string& path);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  // Throws FileError.
  void append(std::string_view bytes);
  // Puts the bytes in place, durably; a file that already contains them is left alone. To be called
  // once. Throws FileError.
  void commit();

 private:
  [[noreturn]] void keep(int channel);
  std::string answer_to(char request);

  PendingFile file_;
  std::unique_ptr<const Descriptor> channel_;  // to the keeper
  pid_t keeper_ = 0;                           // 0: there is none
};

// The present state of a file, including that there is none, to be put back if its replacement must
// not stay.
class FormerFile {
 public:
  // `within` as for a PendingFile. Throws FileError if the file exists but cannot be read.
  explicit FormerFile(const std::string& path, std::string within = {});
  // Restores bytes and time, durably. Throws FileError.
  void put_back() const;

 private:
  std::string path_;
  std::string within_;
  std::optional<std::string> bytes_;  // nullopt: there was no file
  timespec modified_{};
};

// Removes a file, durably. It must be in the folder `within` after all links; empty: it may be
// anywhere. Throws FileError.
void remove_file(const std::string& path, const std::string& within);

// Makes a file that is already in place, and its name, survive a power cut: a run that was killed
// may not have reached its sync. Throws FileError.
void sync_in_place(const std::string& path);

// One of the folders for each file system; missing folders are left out.
std::vector<std::string> one_folder_each(const std::set<std::string>& folders);

// Makes everything written to the file systems of these folders survive a power cut: for many files
// that is far less work than syncing each. Throws FileError.
void sync_file_systems(std::span<const std::string> folders);

// The folder of the file that `path` leads to; `path` itself if that cannot be determined.
std::string folder_behind(const std::string& path) noexcept;

// Makes these the bytes of the file at `path`, in one durable step; a file that already contains
// them is left alone. Throws FileError as PendingFile does.
void replace_file(const std::string& path, std::string_view bytes);

// Throws Error with the name of the option if a file is there that begins with other bytes than
// `start`, so that it is not `what`. An empty one may be replaced.
void refuse_other_file(std::string_view option, const std::string& path, std::string_view start,
                       std::string_view what);

// Replaces only what an earlier output was, see above. Throws FileError and Error.
void replace_output(std::string_view option, const std::string& path, std::string_view bytes,
                    std::string_view start, std::string_view what);

// Whether a name is that of a PendingFile's temporary.
bool is_temporary_name(std::string_view name);

// Removes the temporaries that killed runs left beside `target`, for any file (the name matches the
// pattern, and no living writer holds it). Folders that were searched recently are skipped. Never
// throws: tidying is not worth a failure.
void remove_stale_temporaries(const std::string& target) noexcept;

// ---- Owns a file descriptor.

// Repeats the call as long as a signal interrupts it.
template <typename Call>
auto retrying(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

inline int open_fd(const std::string& path, int flags, mode_t mode = 0) {
  return retrying([&] { return open(path.c_str(), flags | O_CLOEXEC, mode); });
}

// Closes the descriptor when destroyed; a negative one is not closed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// ---- Reads files whole into memory, within the limit of their kind.

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

// ---- Which files a piece of work reads.

// While this exists, adds the path of every file that any thread opens for reading to `paths`. One
// at a time.
class WatchOpened {
 public:
  explicit WatchOpened(std::set<std::string>& paths);
  ~WatchOpened();
  WatchOpened(const WatchOpened&) = delete;
  WatchOpened& operator=(const WatchOpened&) = delete;
};

}  // namespace aggregate_power
