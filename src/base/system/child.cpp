// Spawns a process group, reads its output and ends it in time.
#include "base/system/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostBytes = 1 << 20;

class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

int left_ms(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Reads until the end; false if that did not come in time.
bool read_until(int descriptor, Clock::time_point end, std::string& out) {
  std::array<char, 65536> chunk;
  while (true) {
    pollfd waiting{descriptor, POLLIN, 0};
    if (::poll(&waiting, 1, left_ms(end)) <= 0) return false;
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count <= 0) return true;
    if (out.size() < kMostBytes) out.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

// Waits for the process itself, which may go on after closing its output.
bool ends_in_time(pid_t child, Clock::time_point end, int& status) {
  while (true) {
    if (::waitpid(child, &status, WNOHANG) != 0) return true;
    if (left_ms(end) == 0) return false;
    ::poll(nullptr, 0, 5);
  }
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    const std::string file = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

ChildResult run_child(const std::vector<std::string>& words, double most_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(words[0] + ": cannot be started");
  Spawn spawn;
  posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&spawn.actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&spawn.actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int fault = ::posix_spawn(&child, words[0].c_str(), &spawn.actions, &spawn.attributes,
                                  arguments.data(), environ);
  ::close(ends[1]);
  if (fault != 0) {
    ::close(ends[0]);
    throw Error(words[0] + ": cannot be started: " + std::generic_category().message(fault));
  }
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<int>(most_s * 1000));
  ChildResult result;
  int status = 0;
  result.timed_out = !read_until(ends[0], end, result.out) || !ends_in_time(child, end, status);
  ::close(ends[0]);
  if (result.timed_out) {
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace aggregate_power
