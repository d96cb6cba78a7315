// Creates files without a name, and the folder that they are in.
#include "base/files/nameless_file.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {

std::string temporary_folder() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

namespace {

// Closing the pipe tells the keeper that this process ends.
struct OwnFolder {
  std::string path = {};
  int alive = -1;  // the end of a pipe to which nothing is written
  pid_t keeper = 0;

  OwnFolder() = default;
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    if (keeper <= 0) return;
    std::ignore = ::close(alive);
    std::ignore = retrying([&] { return ::waitpid(keeper, nullptr, 0); });
  }
};

OwnFolder& own_folder() {
  static OwnFolder own;
  return own;
}

// Ends after the other process, which may be ended by any of these signals, or with its group.
[[noreturn]] void remove_at_end(const std::string& path, int alive) {
  std::ignore = ::setsid();
  for (const int each : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) {
    std::ignore = ::signal(each, SIG_IGN);
  }
  char ignored = 0;
  std::ignore = retrying([&] { return ::read(alive, &ignored, 1); });
  std::error_code error;
  std::filesystem::remove_all(path, error);
  ::_exit(0);
}

}  // namespace

void make_own_folder() {
  OwnFolder& own = own_folder();
  if (!own.path.empty()) return;
  std::string path = resolve_what_is_there(temporary_folder()) + "/aggregate-power.XXXXXX";
  int ends[2] = {-1, -1};
  if (::mkdtemp(path.data()) == nullptr) return;
  own.keeper = ::pipe2(ends, O_CLOEXEC) == 0 ? ::fork() : -1;
  if (own.keeper == 0) {
    ::close(ends[1]);
    remove_at_end(path, ends[0]);
  }
  ::close(ends[0]);
  own.alive = ends[1];
  own.path = own.keeper > 0 ? path : std::string();
  if (own.path.empty()) std::ignore = ::rmdir(path.c_str());
}

std::string folder_for_temporaries() {
  const std::string& own = own_folder().path;
  return own.empty() ? temporary_folder() : own;
}

int open_nameless(const std::string& folder) {
  // O_EXCL: nobody can give it a name later.
  const int fd = open_fd(folder, O_TMPFILE | O_RDWR | O_EXCL, 0600);
  if (fd >= 0) return fd;
  // NFS, overlays and older kernels have no nameless files, and report it in various ways.
  std::string name = folder + "/aggregate-power.XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) std::ignore = unlink(name.c_str());
  return named;
}

NamelessFile::NamelessFile(std::string name)
    : name_(std::move(name)),
      folder_(temporary_folder()),
      file_(std::make_shared<const Descriptor>(open_nameless(folder_for_temporaries()))) {
  if (file_->get() < 0) fail(errno);
}

void NamelessFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = retrying([&] { return write(file_->get(), bytes.data(), bytes.size()); });
    if (count < 0) fail(errno);
    size_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void NamelessFile::fail(int errno_value) const {
  throw FileError(
      name_,
      fmt::format(
          "cannot be unpacked in {}: {}; set $TMPDIR to a folder that is writable and has free space",
          folder_, std::generic_category().message(errno_value)));
}

}  // namespace aggregate_power
