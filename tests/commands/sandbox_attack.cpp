// Confines itself, then tries what a program that was taken over would try. One line for each
// attempt: its name, and "done" or the number of the error.
//
//   sandbox_attack IN OUT OUTSIDE    may read IN and write OUT; IN/../outside is OUTSIDE, in which
//                                    it may put an output in place that it began before
//   sandbox_attack --free IN OUT OUTSIDE    the same attempts without a sandbox
//   sandbox_attack --without-kernel PROGRAM...    runs it as on a kernel that has no sandboxes
#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/files/file.h"
#include "base/system/sandbox.h"

namespace {

using Attempt = std::function<long()>;  // below 0: errno says why not

void attempt(const char* name, const Attempt& what) {
  errno = 0;
  const long result = what();
  if (result >= 0) {
    std::printf("%s done\n", name);
  } else {
    std::printf("%s %d\n", name, errno);
  }
}

// What a child answers: 0 for done, else the error.
Attempt in_child(const Attempt& what) {
  return [what]() -> long {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(what() >= 0 ? 0 : errno);
    int status = 0;
    ::waitpid(child, &status, 0);
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    return errno == 0 ? 0 : -1;
  };
}

Attempt opening(const std::string& path, int flags) {
  return [=] { return ::open(path.c_str(), flags, 0600); };
}

Attempt listing(const std::string& path) {
  return [=] {
    DIR* const folder = ::opendir(path.c_str());
    return folder == nullptr ? -1 : ::closedir(folder);
  };
}

Attempt reopening(const std::string& path) {
  return [=]() -> long {
    const int held = ::open(path.c_str(), O_PATH);
    if (held < 0) return held;
    return ::open(("/proc/self/fd/" + std::to_string(held)).c_str(), O_RDONLY);
  };
}

Attempt executing(const char* program) {
  return in_child([=] {
    char* const arguments[] = {const_cast<char*>(program), nullptr};
    return ::execv(program, arguments);
  });
}

// What a sandbox must leave possible.
void work(const std::string& in, const std::string& out, aggregate_power::StreamedFile& output) {
  attempt("work:output", [&] {
    output.append("content");
    output.commit();
    return 0;
  });
  attempt("work:read", opening(in + "/file", O_RDONLY));
  attempt("work:list", listing(in));
  attempt("work:create", opening(out + "/new", O_WRONLY | O_CREAT | O_EXCL));
  attempt("work:nameless", opening(out, O_TMPFILE | O_RDWR | O_EXCL));
  attempt("work:rename", [&] { return ::rename((out + "/new").c_str(), (out + "/mine").c_str()); });
  attempt("work:folder", [&] { return ::mkdir((out + "/below").c_str(), 0700); });
  attempt("work:through-proc", reopening(in + "/file"));
  attempt("work:own-limit", [] {
    rlimit found{};
    return ::getrlimit(RLIMIT_NOFILE, &found);
  });
  attempt("work:own-signal",
          [] { return ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), 0); });
  attempt("work:flags-of-file", [] { return ::fcntl(0, F_GETFD); });
  attempt("work:thread", [] {
    std::thread([] {}).join();
    return 0;
  });
}

void attack_files(const std::string& in, const std::string& out, const std::string& outside) {
  const std::string secret = outside + "/secret";
  attempt("file:read", opening(secret, O_RDONLY));
  attempt("file:read-by-dots", opening(in + "/../outside/secret", O_RDONLY));
  attempt("file:read-by-link", opening(in + "/link", O_RDONLY));
  attempt("file:read-by-root", opening("/proc/self/root" + secret, O_RDONLY));
  attempt("file:read-reopened", reopening(secret));
  attempt("file:read-in-child", in_child(opening(secret, O_RDONLY)));
  attempt("file:list", listing(outside));
  attempt("file:write", opening(secret, O_WRONLY));
  attempt("file:append", opening(secret, O_WRONLY | O_APPEND));
  attempt("file:empty", opening(secret, O_RDWR | O_TRUNC));
  attempt("file:create", opening(outside + "/created", O_WRONLY | O_CREAT));
  attempt("file:nameless", opening(outside, O_TMPFILE | O_RDWR));
  attempt("file:write-input", opening(in + "/file", O_WRONLY));
  attempt("file:create-beside-input", opening(in + "/created", O_WRONLY | O_CREAT));
  attempt("file:folder", [&] { return ::mkdir((outside + "/folder").c_str(), 0700); });
  attempt("file:link-in", [&] { return ::link(secret.c_str(), (out + "/linked").c_str()); });
  attempt("file:symlink", [&] { return ::symlink("/", (out + "/root").c_str()); });
  attempt("file:fifo", [&] { return ::mkfifo((out + "/fifo").c_str(), 0600); });
  attempt("file:move-out",
          [&] { return ::rename((out + "/mine").c_str(), (outside + "/moved").c_str()); });
  attempt("file:move-in", [&] { return ::rename(secret.c_str(), (out + "/moved").c_str()); });
  attempt("file:remove-input", [&] { return ::unlink((in + "/file").c_str()); });
  attempt("file:remove", [&] { return ::unlink((outside + "/second").c_str()); });
}

void attack_calls(const std::string& outside) {
  const std::string secret = outside + "/third";
  const pid_t above = ::getppid();
  attempt("call:socket", [] { return ::socket(AF_INET, SOCK_STREAM, 0); });
  attempt("call:socket-unix", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0); });
  attempt("call:socketpair", [] {
    int ends[2];
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  });
  attempt("call:exec", executing("/bin/true"));
  attempt("call:kill", [=] { return ::kill(above, 0); });
  attempt("call:kill-thread", [=] { return ::syscall(SYS_tgkill, above, above, 0); });
  attempt("call:limit", [=] {
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    return ::prlimit(above, RLIMIT_CPU, &none, nullptr);
  });
  attempt("call:priority", [=] { return ::setpriority(PRIO_PROCESS, above, 19); });
  attempt("call:signals-of-file", [=] { return ::fcntl(0, F_SETOWN, above); });
  attempt("call:signals-by-request", [=] { return ::ioctl(0, FIOSETOWN, &above); });
  attempt("call:read-memory", [=] {
    char byte = 0;
    iovec here{&byte, 1};
    return ::process_vm_readv(above, &here, 1, &here, 1, 0);
  });
  attempt("call:ptrace", in_child([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }));
  attempt("call:shared-memory", [] { return ::syscall(SYS_shmget, 1, 4096, 0); });
  attempt("call:chmod", [&] { return ::chmod(secret.c_str(), 0666); });
  attempt("call:times",
          [&] { return ::syscall(SYS_utimensat, AT_FDCWD, secret.c_str(), nullptr, 0); });
  attempt("call:chown", [&] { return ::chown(secret.c_str(), ::getuid(), ::getgid()); });
  attempt("call:truncate", [&] { return ::truncate(secret.c_str(), 0); });
  attempt("call:mount",
          in_child([] { return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr); }));
  attempt("call:namespace", in_child([] { return ::syscall(SYS_unshare, 0x10000000); }));
  attempt("call:chroot", in_child([&] { return ::chroot(outside.c_str()); }));
  attempt("call:io-uring", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); });
  attempt("call:bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); });
  attempt("call:type-into-terminal", [] { return ::ioctl(0, TIOCSTI, "x"); });
#if defined(__x86_64__)
  attempt("call:x32", [] { return ::syscall(0x40000000 | SYS_getpid); });
  // A kernel without such calls ends the child.
  attempt("call:32-bit", in_child([] {
            long result = 20;  // getpid
            asm volatile("int $0x80" : "+a"(result) : : "memory");
            if (result < 0) errno = static_cast<int>(-result);
            return result;
          }));
#endif
}

// As an older kernel, or a container's filter, answers.
void take_sandboxes_away() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--without-kernel" && argc > 2) {
    take_sandboxes_away();
    ::execv(argv[2], argv + 2);
    return 127;
  }
  const bool is_free = first == "--free";
  if (argc != (is_free ? 5 : 4)) return 2;
  char** const places = argv + (is_free ? 2 : 1);
  const std::string in = places[0];
  const std::string out = places[1];
  const std::string outside = places[2];
  aggregate_power::StreamedFile output(outside + "/output");
  if (!is_free) {
    const aggregate_power::Sandbox sandbox =
        aggregate_power::confine({.reads = {in}, .writes = {out}, .removes = {}});
    std::printf("landlock %d\nseccomp %d\n", sandbox.landlock, sandbox.seccomp ? 1 : 0);
  }
  work(in, out, output);
  // From a thread that was started later, as the work of the commands is.
  std::thread([&] {
    attack_files(in, out, outside);
    attack_calls(outside);
  }).join();
  return 0;
}
