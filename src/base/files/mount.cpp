// Recognizes risky file systems by their mount and by trying a lock.
#include "base/files/mount.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/files/whole_file.h"

namespace aggregate_power {
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
  while (!mountinfo.empty()) {
    std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
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
