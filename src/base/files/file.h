// Files read as a stream, and replaced in one durable step.
//
// A replacement is a temporary in the target's own folder, written and synced, then renamed over
// the target, then the folder is synced: a reader sees the old bytes or the new, never a part, and
// after a power cut one of the two is there whole. Links are followed: what a link points
// to is replaced, the link stays.
#pragma once

#include <sys/types.h>

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

#include "base/files/byte_source.h"

struct stat;

namespace aggregate_power {

class Descriptor;

// What the system said when a file could not be had: "agg.json: cannot open: Permission denied".
// The file is named as the caller named it.
class FileError : public std::system_error {
 public:
  // `action` reads as "cannot ...": "open", "write", "replace".
  FileError(const std::string& path, const std::string& action, int errno_value);
  // For faults that the system has no number for.
  FileError(const std::string& path, const std::string& what);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// A file is not what its replacement was made of: "agg.json: was changed while it was worked on".
class FileChanged : public FileError {
 public:
  explicit FileChanged(const std::string& path);
};

// A file, or standard input for "-" (left open afterwards, and called "standard input" in errors).
// Throws FileError when it cannot be opened; its read() throws FileError too (reading a directory
// fails there).
std::unique_ptr<ByteSource> open_source(const std::string& path);

// What tells that a file is still the one that was looked at.
struct FileFacts {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  bool operator==(const FileFacts&) const = default;
};

FileFacts facts_of(const struct stat& found);

// A file that is read more than once: always the same one, whatever takes its name meanwhile, and
// no further than it went when it was opened, though someone may be writing on. It may also be a
// part of a larger file. Copies share the descriptor; any number of threads may read.
class OpenedFile {
 public:
  // Throws FileError.
  explicit OpenedFile(const std::string& path);
  // The `facts.bytes` bytes of `file` from `offset` on. `name` is for messages.
  OpenedFile(std::string name, std::shared_ptr<const Descriptor> file, std::uint64_t offset,
             FileFacts facts);

  // As in messages.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return facts_.bytes; }
  // Of the moment when it was opened.
  const FileFacts& facts() const { return facts_; }
  // Fills the front of `into` with what lies from `at` on and says how many bytes that were; 0 only
  // at the end. Short counts are allowed. Throws FileError, and Interrupted after a signal, so that
  // no long recording or archive delays the end.
  std::size_t read_at(std::uint64_t at, std::span<char> into) const;
  // Its bytes from the start; may outlive this object. Throws FileError in read().
  std::unique_ptr<ByteSource> source() const;
  // The same file, whose source() passes `wrap`.
  using Wrap = std::function<std::unique_ptr<ByteSource>(std::unique_ptr<ByteSource>)>;
  OpenedFile through(Wrap wrap) const;

 private:
  std::string name_;
  std::shared_ptr<const Descriptor> file_;
  std::uint64_t offset_ = 0;
  FileFacts facts_;
  Wrap wrap_;
};

// All of a file, or of standard input for "-". Throws FileError.
std::string read_file(const std::string& path);

// Whether `path` leads to a regular file. False also when that cannot be told.
bool is_regular_file(const std::string& path) noexcept;

// Whether `path` leads to a regular file of just these bytes. False also when that cannot be told.
bool holds(const std::string& path, std::string_view bytes);

// What the file that `path` leads to is known by, whatever its names; of one that cannot be looked
// at, its name. Paths with equal ones lead to one file.
std::string file_identity(const std::string& path);

// Whether both lead to one file, or are one name.
bool is_same_file(const std::string& a, const std::string& b);

// Where `path` leads after all links, as an absolute path: the file that a replacement would
// replace. The last component need not exist. Throws FileError (a loop of links, a missing folder).
std::string resolve_links(const std::string& path);

// The same for any path: names that are not there, or cannot be resolved, are kept as they are.
std::string resolve_what_is_there(const std::string& path);

// Whether one path is the other, or lies below it. Both are as resolve_what_is_there() gives them.
bool is_in(std::string_view path, std::string_view folder);

// Exclusive use of an existing file among those who ask for it this way: waits until it is had, and
// says so when that takes long (base/lock_wait.h); throws Interrupted while it waits.
// Held on the file itself (flock), so that nothing stays behind when the holder dies; when the file
// was replaced while waiting, the new one is locked. It covers one replacement: afterwards the lock
// is on the file that was, and the new one is free. Needs the right to write to the file: throws
// FileError when it cannot be opened for writing, or is not a regular file. Where the file system
// has no locks, there is no waiting and no exclusion.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  // The same; nothing when someone else has it and we shall not wait.
  static std::optional<FileLock> take(const std::string& path, bool wait);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

 private:
  FileLock() = default;  // delegated to, so that the destructor cleans up after a throw

  int fd_ = -1;
};

// Throws FileError where a PendingFile and its commit() would, as far as that shows without
// writing.
void require_replaceable(const std::string& path, bool make_folders = false);

// When written bytes are made to outlast a power cut: at once, or by the caller for many files
// together, with sync_file_systems().
enum class Sync { at_once, later };

// New bytes for a file, on disk in a temporary beside it but not yet in its place.
class PendingFile {
 public:
  // Writes and (at once) syncs the temporary: `.NAME.XXXXXXXX.aggregate-power.tmp`, with a unique X
  // (and NAME cut where the whole would be too long), never following or overwriting what is there.
  // Mode and owner are those of the file at `path`; without one, the mode is 0666 less the umask.
  // The owner is kept as far as we may; access lists and other extended attributes are not. With
  // `make_folders` the folders above `path` are made when missing. Throws FileError, also when
  // `path` leads to anything but a regular file; no temporary is left behind then, though folders
  // just made stay.
  PendingFile(const std::string& path, std::string_view bytes, bool make_folders = false,
              Sync sync = Sync::at_once);
  // Removes the temporary unless it was committed.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Renames the temporary over the target, then (at once) syncs the folder. The new file stays
  // locked, as by a FileLock, until this object goes. To be called once. Throws FileError: when the
  // rename failed, the target is as it was and the temporary is removed; when only the sync failed,
  // the new bytes are in place but may not outlast a power cut.
  void commit();
  // The same for a file that exists, and only while it holds `expected`: throws FileChanged
  // otherwise, and the file is as whoever changed it left it. The temporary and the target trade
  // names, and go back when what comes out is not what was expected, so no change is lost that was
  // made before they trade names. Where the file system cannot do that, a change in the
  // microseconds between the last look and the rename is lost. A writer that opened the file before
  // and writes to it after writes to a file that is gone, as with any replacement.
  void commit_over(std::string_view expected);
  // Before commit(): the time of the new file. Throws FileError.
  void set_modified(const timespec& time);
  // Whether the new bytes are in their place, be it that the sync behind the rename failed.
  bool in_place() const { return in_place_; }

 private:
  PendingFile() = default;  // delegated to, so that the destructor cleans up after a throw

  void create_temporary(mode_t mode);
  void discard() noexcept;
  void discard_name() noexcept;
  void put_back();
  void settle();

  std::string path_;       // as given, for errors
  std::string target_;     // after links
  std::string temporary_;  // empty while there is none
  Sync sync_ = Sync::at_once;
  FileFacts written_;
  int fd_ = -1;  // locked while the temporary exists: others know that it is in use
  bool in_place_ = false;
};

// A file as it is now, or that there is none, to be put back when what replaced it must not stay.
class FormerFile {
 public:
  // Throws FileError when there is a file and it cannot be read.
  explicit FormerFile(const std::string& path);
  // With its bytes and its time, durably. Throws FileError.
  void put_back() const;

 private:
  std::string path_;
  std::optional<std::string> bytes_;  // nothing: there was none
  timespec modified_{};
};

// Makes sure that a file which is in its place already, and its name, outlast a power cut: a run
// that was killed may not have come to that. Throws FileError.
void sync_in_place(const std::string& path);

// Of some folders, one in each file system; those that are not there are left out.
std::vector<std::string> one_folder_each(const std::set<std::string>& folders);

// Makes sure that all that was written to the file systems of these folders outlasts a power cut:
// for many files that is far less work than to sync each. Throws FileError.
void sync_file_systems(std::span<const std::string> folders);

// The folder that holds what `path` leads to; `path` itself where that cannot be told.
std::string folder_behind(const std::string& path) noexcept;

// Makes these bytes the file at `path`, in one durable step; a file that has them already is left
// alone. Throws FileError as PendingFile does.
void replace_file(const std::string& path, std::string_view bytes);

// Whether a file is called as a PendingFile's temporary.
bool is_temporary_name(std::string_view name);

// Removes the temporaries that killed runs left beside `target`, whichever file they were for (the
// name's pattern, and no living writer). Folders that were looked through lately are passed over.
// Never throws: tidying is not worth a failure.
void remove_stale_temporaries(const std::string& target) noexcept;

}  // namespace aggregate_power
