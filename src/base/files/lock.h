// Waits, but not for ever, for a file lock that someone else holds.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/file.h"

namespace aggregate_power {

// Called once for each wait longer than two seconds, by the waiting thread. `holder` is the process
// that has the lock; nullopt if the system does not say, as for a lock held on another machine.
using LockWatcher = std::function<void(const std::string& path, std::optional<pid_t> holder)>;

// Sets the process's one watcher as long as this object lives; then the previous one is restored.
// Must not be created or destroyed while anyone may be waiting.
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

// Someone else has kept a lock for longer than set_lock_timeout() allows to wait:
// "agg.json: still locked by process 1234 after 60 s".
class LockTimeout : public FileError {
 public:
  LockTimeout(const std::string& path, std::optional<pid_t> holder, double waited_s);
};

// Sets how long the process waits for each lock from now on: 60 s unless this is called, and 0 s
// means not at all. Anybody who may read a file may lock it, so that no wait is without an end; who
// keeps one lock may keep thousands, so that after a LockTimeout each further wait is at most 1 s,
// and all that also end in one take at most as long together as the first.
void set_lock_timeout(double seconds);

// Takes the exclusive lock (flock) on `fd`, a file at `path`, when it is free. Throws LockTimeout,
// Interrupted if that takes longer than half a second after a signal, and FileError if there can be
// no lock.
void wait_for_lock(int fd, const std::string& path);

// The process that holds the lock on a file, according to the text of /proc/locks.
std::optional<pid_t> lock_holder(std::string_view locks, dev_t device, ino_t inode);

// ---- Finds file systems on which replacing a file is risky.

// Why files at the place `path` leads to cannot be replaced safely: "its file system has no locks",
// or it is a mount of an object store or a web folder, on which a rename copies and deletes, and
// locks hold only on this machine. Empty: they can, or `path` cannot be opened. Each file system is
// checked only once.
std::string replacement_risk(const std::string& path);

// The program of such a mount, according to the text of /proc/self/mountinfo: "rclone". Empty: the
// device is not a known one.
std::string object_store_mount(std::string_view mountinfo, dev_t device);

}  // namespace aggregate_power
