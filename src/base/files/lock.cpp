// Waits for a lock, and finds its holder in /proc/locks.
#include "base/files/lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/system/interruption.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLongWait = std::chrono::seconds(2);
// A lock is usually held only for a moment, and the work in progress can still be finished.
constexpr auto kGrace = std::chrono::milliseconds(500);
constexpr auto kFirstPause = std::chrono::milliseconds(1);
constexpr auto kLongestPause = std::chrono::milliseconds(64);

std::chrono::duration<double>& longest_wait() {
  static std::chrono::duration<double> the_longest_wait = std::chrono::seconds(60);
  return the_longest_wait;
}

// After a first timeout: what is left for all further waits together. Negative: there was none.
std::atomic<double>& seconds_left() {
  static std::atomic<double> the_seconds_left = -1;
  return the_seconds_left;
}

std::chrono::duration<double> longest_wait_now() {
  constexpr std::chrono::duration<double> kFurther = std::chrono::seconds(1);
  const double left = seconds_left();
  if (left < 0) return longest_wait();
  return std::min(kFurther, std::chrono::duration<double>(left));
}

void count_timeout(std::chrono::duration<double> most) {
  double left = seconds_left();
  double then = 0;
  do {
    then = left < 0 ? longest_wait().count() : std::max(0.0, left - most.count());
  } while (!seconds_left().compare_exchange_weak(left, then));
}

LockWatcher& watcher() {
  static LockWatcher the_watcher;
  return the_watcher;
}

std::optional<pid_t> holder_of(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) return std::nullopt;
  try {
    return lock_holder(read_whole(*open_source("/proc/locks"), "/proc/locks", kSystemFile),
                       found.st_dev, found.st_ino);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

std::string holder_text(std::optional<pid_t> holder) {
  return holder ? fmt::format("process {}", *holder) : "another process";
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace

WatchLocks::WatchLocks(LockWatcher of_process)
    : before_(std::exchange(watcher(), std::move(of_process))) {}

WatchLocks::~WatchLocks() { watcher() = std::move(before_); }

std::string lock_wait_text(const std::string& path, std::optional<pid_t> holder) {
  return fmt::format("waiting for {}, locked by {}", path, holder_text(holder));
}

LockTimeout::LockTimeout(const std::string& path, std::optional<pid_t> holder, double waited_s)
    : FileError(path,
                fmt::format("still locked by {} after {:g} s", holder_text(holder), waited_s)) {}

void set_lock_timeout(double seconds) { longest_wait() = std::chrono::duration<double>(seconds); }

void wait_for_lock(int fd, const std::string& path) {
  // Polls: a thread that sleeps in flock() itself cannot be asked to give up.
  const Clock::time_point start = Clock::now();
  bool is_told = false;
  auto pause = kFirstPause;
  while (retrying([&] { return flock(fd, LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) throw FileError(path, "lock", errno);
    const auto waited = Clock::now() - start;
    if (waited > kGrace) throw_if_interrupted();
    if (const auto most = longest_wait_now(); waited >= most) {
      count_timeout(most);
      throw LockTimeout(path, holder_of(fd), most.count());
    }
    if (!is_told && waited > kLongWait) {
      is_told = true;
      if (watcher()) watcher()(path, holder_of(fd));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// Parses lines such as "3: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", with the device in
// hexadecimal. A process that waits for a lock has "->" after the number. Processes that this one
// cannot see are 0 or -1.
std::optional<pid_t> lock_holder(std::string_view locks, dev_t device, ino_t inode) {
  const std::string file = fmt::format("{:02x}:{:02x}:{}", major(device), minor(device), inode);
  for (const std::string_view line : separated(locks, '\n')) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 6 || words[1] != "FLOCK" || words[5] != file) continue;
    const pid_t holder = from_text<pid_t>(words[4]).value_or(0);
    return holder > 0 ? std::optional(holder) : std::nullopt;
  }
  return std::nullopt;
}

// ---- Recognizes risky file systems by their mount and by trying a lock.

namespace {

// Other FUSE file systems, such as sshfs, JuiceFS, GlusterFS and fuse-overlayfs, rename in one
// step. The ones that do not can only be recognized by a list, because they claim that they do.
constexpr std::string_view kPrograms[] = {"rclone",   "s3fs",      "gcsfuse",
                                          "goofys",   "geesefs",   "mountpoint-s3",
                                          "blobfuse", "blobfuse2", "ossfs"};

std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// Returns nullopt if that cannot be determined.
std::optional<bool> has_locks(const std::string& path) {
  const Descriptor file(open_fd(path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  if (retrying([&] { return flock(file.get(), LOCK_SH | LOCK_NB); }) == 0) return true;
  return errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS;
}

std::optional<std::string> risk_of(const std::string& path, dev_t device) {
  const std::string program = object_store_mount(
      read_whole(*open_source("/proc/self/mountinfo"), "mountinfo", kSystemFile), device);
  if (!program.empty()) {
    return fmt::format("it is on a mount of {}, which has no atomic renames", program);
  }
  const std::optional<bool> locks = has_locks(path);
  if (!locks) return std::nullopt;
  return *locks ? "" : "its file system has no locks";
}

}  // namespace

std::string replacement_risk(const std::string& path) {
  static std::mutex mutex;
  static std::map<dev_t, std::string> known;
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return {};
  const std::lock_guard guard(mutex);
  if (const auto risk = known.find(found.st_dev); risk != known.end()) return risk->second;
  const auto risk = risk_of(path, found.st_dev);
  return risk ? known.emplace(found.st_dev, *risk).first->second : std::string();
}

// Parses lines such as "42 27 0:39 / /mnt/store rw,relatime shared:1 - fuse.rclone remote: rw". A
// program that does not give its name has just the type "fuse"; then the source may be its name, or
// the address of a web folder.
std::string object_store_mount(std::string_view mountinfo, dev_t device) {
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  for (std::string_view line : separated(mountinfo, '\n')) {
    next_word(line);
    next_word(line);
    if (next_word(line) != wanted) continue;
    while (!line.empty() && next_word(line) != "-") continue;
    std::string_view type = next_word(line);
    const std::string_view source = next_word(line);
    if (type == "fuse" && source.find("://") != std::string_view::npos) return "davfs2";
    if (type.starts_with("fuse.")) type.remove_prefix(5);
    const std::string_view program = type == "fuse" ? source : type;
    return std::ranges::find(kPrograms, program) == std::end(kPrograms) ? "" : std::string(program);
  }
  return {};
}

}  // namespace aggregate_power
