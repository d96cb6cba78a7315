// Waiting for a file lock that someone else holds.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// Called once for each wait that lasts longer than two seconds, by the thread that waits. `holder`:
// the process that has the lock; nothing where the system does not say, as of a lock that a process
// on another machine has.
using LockWatcher = std::function<void(const std::string& path, std::optional<pid_t> holder)>;

// The one watcher of the process, as long as this object lives; then the one before it again. Not
// to be made or dropped while anyone may be waiting.
class WatchLocks {
 public:
  explicit WatchLocks(LockWatcher watcher);
  ~WatchLocks();
  WatchLocks(const WatchLocks&) = delete;
  WatchLocks& operator=(const WatchLocks&) = delete;

 private:
  LockWatcher before_;
};

// "waiting for agg.json, locked by process 1234".
std::string lock_wait_text(const std::string& path, std::optional<pid_t> holder);

// Takes the exclusive lock (flock) on `fd`, which is a file at `path`, once it is free. Throws
// Interrupted when that takes longer than half a second after a signal, and FileError where no lock
// can be had.
void wait_for_lock(int fd, const std::string& path);

// Which process holds the lock on a file, by the text of /proc/locks.
std::optional<pid_t> lock_holder(std::string_view locks, dev_t device, ino_t inode);

}  // namespace aggregate_power
