// Files read as a stream, and replaced in one durable step.
//
// A replacement is a temporary in the target's own folder, written and synced, then renamed over
// the target, then the folder is synced: a reader sees the old bytes or the new, never a part, and
// after a power cut one of the two is there whole. Links are followed: what a link points
// to is replaced, the link stays.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "aggregate_power/base/byte_source.h"

namespace aggregate_power {

// What the system said when a file could not be had: "agg.json: cannot open: Permission denied".
class FileError : public std::system_error {
 public:
  // `action` reads as "cannot ...": "open", "write", "rename".
  FileError(const std::string& path, const std::string& action, int errno_value);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// A file, or standard input for "-". Throws FileError when it cannot be opened; its read() throws
// FileError too (reading a directory fails there).
std::unique_ptr<ByteSource> open_source(const std::string& path);

// All of a file. Throws FileError.
std::string read_file(const std::string& path);

// Where `path` leads after all links: the file that a replacement would replace. The last component
// need not exist. Throws FileError (a loop of links, a missing folder).
std::string resolve_links(const std::string& path);

// Exclusive use of an existing file among those who ask for it this way: waits until it is had. Held
// on the file itself (flock), so that nothing stays behind when the holder dies; when the file was
// replaced while waiting, the new one is locked. Needs the right to write to the file: throws
// FileError when it cannot be opened for writing.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

// New bytes for a file, on disk in a temporary beside it but not yet in its place.
class PendingFile {
 public:
  // Writes and syncs the temporary: `.NAME.XXXXXXXX.aggregate-power.tmp`, with a unique X, never
  // following or overwriting what is there. Mode and owner are those of the file at
  // `target`; without one, the mode is 0666 less the umask. The owner is kept as far as we may.
  // With `make_folders` the folders above `target` are made when missing.
  // Throws FileError; nothing is left behind then.
  PendingFile(const std::string& target, std::string_view bytes, bool make_folders = false);
  // Removes the temporary unless it was committed.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Renames the temporary over the target, then syncs the folder. Throws FileError; when the rename
  // failed the target is as it was and the temporary is removed.
  void commit();

 private:
  std::string target_;     // after links
  std::string temporary_;  // empty once committed
  int fd_ = -1;            // locked while the temporary exists: others know that it is in use
};

// Removes temporaries that a killed run left beside `target` (same name pattern, no living writer).
// A folder is looked through once in the life of the process. Never throws: tidying is not worth a
// failure.
void remove_stale_temporaries(const std::string& target) noexcept;

}  // namespace aggregate_power
