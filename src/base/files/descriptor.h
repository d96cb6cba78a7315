// Owns a file descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace aggregate_power {

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

}  // namespace aggregate_power
