// The peak resident memory of a command in KiB. A small process must start it: what the starting
// process holds counts as the command's until it is replaced.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
  const pid_t child = vfork();
  if (child == 0) {
    execv(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  std::fprintf(stderr, "%ld\n", usage.ru_maxrss);
  return status == 0 ? 0 : 1;
}
