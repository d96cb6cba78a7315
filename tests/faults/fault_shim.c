// A library to preload that writes down a program's file-system calls and makes one of them go
// wrong.
//
//   FAULT_ROOT=/tmp/case FAULT_LOG=/tmp/log FAULT_AT=7 FAULT_ERRNO=5 LD_PRELOAD=./fault_shim.so
//   PROGRAM
//
// Counted are the calls below whose path, or the path behind whose descriptor, is FAULT_ROOT or
// lies under it. Both are compared as text: give a FAULT_ROOT without links. Calls are counted from
// 1 over all threads, in each process anew. Environment:
//
//   FAULT_LOG    one line is appended for each counted call, before it is made:
//                INDEX NAME PATH [DETAIL] [<- FAULT]
//   FAULT_AT     the call that goes wrong; the others are let through
//   FAULT_CALL   instead: every call of this name goes wrong
//   FAULT_ERRNO  it fails with this number and is not made
//   FAULT_SHORT  =1: where it is a write of two bytes or more, only the first half is written;
//   other
//                calls are let through
//   FAULT_KILL   =1: the process dies of SIGKILL just before the call
//   FAULT_RUN    a shell command that is run to its end just before the call, which is then made
//   FAULT_DELAY_MS  each counted call is made so much later
//
// It sees calls that a program makes to a shared C library by name: not those of a static program,
// nor those that the C library makes within itself (fopen, realpath, readdir).
//
//   cc -std=c11 -O2 -fPIC -shared -o fault_shim.so fault_shim.c
#define _GNU_SOURCE
// The fortified headers would define some of these names themselves.
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum fault { kNone, kFail, kShort, kKill, kRun };

// ---- Where a call points. Raw calls, so that the shim does not meet itself.

static void link_text(const char* link, char into[PATH_MAX]) {
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX - 1);
  into[size > 0 ? size : 0] = '\0';
}

static void path_behind(int fd, char into[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  link_text(fd == AT_FDCWD ? "/proc/self/cwd" : link, into);
}

static void full_path(int folder, const char* path, char into[PATH_MAX]) {
  int fd = -1;  // of a folder that is held open: "/proc/self/fd/7/name"
  int end = 0;
  if (path != NULL && sscanf(path, "/proc/self/fd/%d%n", &fd, &end) == 1 && path[end] == '/') {
    folder = fd;
    path += end + 1;
  }
  if (path == NULL || path[0] == '\0') {
    path_behind(folder, into);
  } else if (path[0] == '/') {
    snprintf(into, PATH_MAX, "%s", path);
  } else {
    path_behind(folder, into);
    const size_t size = strlen(into);
    snprintf(into + size, PATH_MAX - size, "/%s", path);
  }
}

static bool is_under_root(const char* path) {
  const char* root = getenv("FAULT_ROOT");
  if (root == NULL) return false;
  const size_t size = strlen(root);
  return strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

// ---- What becomes of a call

static long number(const char* variable) {
  const char* text = getenv(variable);
  return text == NULL ? 0 : atol(text);
}

static enum fault fault_at(long index, const char* name, bool can_be_short) {
  const char* call = getenv("FAULT_CALL");
  if (call == NULL ? index != number("FAULT_AT") : strcmp(name, call) != 0) return kNone;
  if (number("FAULT_KILL") != 0) return kKill;
  if (getenv("FAULT_RUN") != NULL) return kRun;
  if (number("FAULT_SHORT") != 0) return can_be_short ? kShort : kNone;
  return number("FAULT_ERRNO") != 0 ? kFail : kNone;
}

static void write_down(long index, const char* name, const char* path, const char* detail,
                       enum fault fault) {
  const char* log = getenv("FAULT_LOG");
  if (log == NULL) return;
  static const char* const kNote[] = {"", " <- fails", " <- short", " <- killed", " <- run"};
  char line[2 * PATH_MAX + 256];
  int size =
      snprintf(line, sizeof line, "%ld %s %s%s%s\n", index, name, path, detail, kNote[fault]);
  if (size >= (int)sizeof line) size = (int)sizeof line - 1;
  const int fd =
      (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  (void)!syscall(SYS_write, fd, line, (size_t)size);
  syscall(SYS_close, fd);
}

// Without this library.
static void run_command(char* command) {
  char* const words[] = {"sh", "-c", command, NULL};
  char* const environment[] = {"PATH=/usr/bin:/bin", NULL};
  pid_t child;
  if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environment) != 0) abort();
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) abort();
}

static void delay(void) {
  const long ms = number("FAULT_DELAY_MS");
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

static enum fault meet(const char* name, const char* path, bool can_be_short, const char* format,
                       va_list arguments) {
  static atomic_long calls;
  if (!is_under_root(path)) return kNone;
  char detail[PATH_MAX + 64];
  vsnprintf(detail, sizeof detail, format, arguments);
  const long index = atomic_fetch_add(&calls, 1) + 1;
  const enum fault fault = fault_at(index, name, can_be_short);
  write_down(index, name, path, detail, fault);
  delay();
  if (fault == kKill) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  if (fault == kRun) run_command(getenv("FAULT_RUN"));
  return fault;
}

// True when the call is to fail, with errno set; otherwise errno is as it was.
__attribute__((format(printf, 4, 5))) static bool fails(const char* name, int folder,
                                                        const char* path, const char* format, ...) {
  const int saved = errno;
  char full[PATH_MAX];
  full_path(folder, path, full);
  va_list arguments;
  va_start(arguments, format);
  const enum fault fault = meet(name, full, false, format, arguments);
  va_end(arguments);
  errno = fault == kFail ? (int)number("FAULT_ERRNO") : saved;
  return fault == kFail;
}

// The same for a write, which may also become shorter.
__attribute__((format(printf, 4, 5))) static bool write_fails(const char* name, int fd,
                                                              size_t* size, const char* format,
                                                              ...) {
  const int saved = errno;
  char full[PATH_MAX];
  path_behind(fd, full);
  va_list arguments;
  va_start(arguments, format);
  const enum fault fault = meet(name, full, *size > 1, format, arguments);
  va_end(arguments);
  if (fault == kShort) *size /= 2;
  errno = fault == kFail ? (int)number("FAULT_ERRNO") : saved;
  return fault == kFail;
}

static const char* open_flags(int flags, char into[160]) {
  static const struct {
    int bit;
    const char* name;
  } kNames[] = {{O_CREAT, "|O_CREAT"},         {O_EXCL, "|O_EXCL"},
                {O_TRUNC, "|O_TRUNC"},         {O_APPEND, "|O_APPEND"},
                {O_CLOEXEC, "|O_CLOEXEC"},     {O_NOFOLLOW, "|O_NOFOLLOW"},
                {O_NONBLOCK, "|O_NONBLOCK"},   {O_NOCTTY, "|O_NOCTTY"},
                {O_DIRECTORY, "|O_DIRECTORY"}, {O_PATH, "|O_PATH"}};
  static const char* const kAccess[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "3"};
  strcpy(into, kAccess[flags & O_ACCMODE]);
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (flags & kNames[i].bit) strcat(into, kNames[i].name);
  }
  return into;
}

// ---- The calls

// The function of that name that the program would have called.
#define NEXT(name)                         \
  static __typeof__(&name) next;           \
  if (next == NULL) {                      \
    void* found = dlsym(RTLD_NEXT, #name); \
    memcpy(&next, &found, sizeof next);    \
  }

#define MODE_OF_OPEN(flags)                                    \
  mode_t mode = 0;                                             \
  if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list arguments;                                         \
    va_start(arguments, flags);                                \
    mode = va_arg(arguments, mode_t);                          \
    va_end(arguments);                                         \
  }                                                            \
  char text[160];

#define OPEN(name)                                                                         \
  int name(const char* path, int flags, ...) {                                             \
    MODE_OF_OPEN(flags)                                                                    \
    NEXT(name)                                                                             \
    if (fails(#name, AT_FDCWD, path, " %s 0%o", open_flags(flags, text), mode)) return -1; \
    return next(path, flags, mode);                                                        \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                     \
  int name(int folder, const char* path, int flags, ...) {                               \
    MODE_OF_OPEN(flags)                                                                  \
    NEXT(name)                                                                           \
    if (fails(#name, folder, path, " %s 0%o", open_flags(flags, text), mode)) return -1; \
    return next(folder, path, flags, mode);                                              \
  }
OPENAT(openat)
OPENAT(openat64)

// What open and openat become in programs built with _FORTIFY_SOURCE; never with O_CREAT.
#define OPEN_2(name)                                                             \
  int name(const char* path, int flags);                                         \
  int name(const char* path, int flags) {                                        \
    char text[160];                                                              \
    NEXT(name)                                                                   \
    if (fails(#name, AT_FDCWD, path, " %s", open_flags(flags, text))) return -1; \
    return next(path, flags);                                                    \
  }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                         \
  int name(int folder, const char* path, int flags);                           \
  int name(int folder, const char* path, int flags) {                          \
    char text[160];                                                            \
    NEXT(name)                                                                 \
    if (fails(#name, folder, path, " %s", open_flags(flags, text))) return -1; \
    return next(folder, path, flags);                                          \
  }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

int creat(const char* path, mode_t mode) {
  NEXT(creat)
  return fails("creat", AT_FDCWD, path, " 0%o", mode) ? -1 : next(path, mode);
}

DIR* opendir(const char* path) {
  NEXT(opendir)
  return fails("opendir", AT_FDCWD, path, "%s", "") ? NULL : next(path);
}

ssize_t read(int fd, void* into, size_t size) {
  NEXT(read)
  return fails("read", fd, NULL, " %zu", size) ? -1 : next(fd, into, size);
}

ssize_t __read_chk(int fd, void* into, size_t size, size_t room);
ssize_t __read_chk(int fd, void* into, size_t size, size_t room) {
  NEXT(__read_chk)
  return fails("__read_chk", fd, NULL, " %zu", size) ? -1 : next(fd, into, size, room);
}

#define PREAD(name, offset_type)                                                    \
  ssize_t name(int fd, void* into, size_t size, offset_type offset) {               \
    NEXT(name)                                                                      \
    if (fails(#name, fd, NULL, " %zu at %lld", size, (long long)offset)) return -1; \
    return next(fd, into, size, offset);                                            \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t write(int fd, const void* from, size_t size) {
  NEXT(write)
  return write_fails("write", fd, &size, " %zu", size) ? -1 : next(fd, from, size);
}

#define PWRITE(name, offset_type)                                                          \
  ssize_t name(int fd, const void* from, size_t size, offset_type offset) {                \
    NEXT(name)                                                                             \
    if (write_fails(#name, fd, &size, " %zu at %lld", size, (long long)offset)) return -1; \
    return next(fd, from, size, offset);                                                   \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

// Never short: which of its parts to cut would be a guess.
ssize_t writev(int fd, const struct iovec* parts, int count) {
  NEXT(writev)
  return fails("writev", fd, NULL, " %d parts", count) ? -1 : next(fd, parts, count);
}

int fsync(int fd) {
  NEXT(fsync)
  return fails("fsync", fd, NULL, "%s", "") ? -1 : next(fd);
}

int fdatasync(int fd) {
  NEXT(fdatasync)
  return fails("fdatasync", fd, NULL, "%s", "") ? -1 : next(fd);
}

#define FTRUNCATE(name, offset_type)                                               \
  int name(int fd, offset_type size) {                                             \
    NEXT(name)                                                                     \
    return fails(#name, fd, NULL, " %lld", (long long)size) ? -1 : next(fd, size); \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

int rename(const char* from, const char* to) {
  NEXT(rename)
  return fails("rename", AT_FDCWD, from, " %s", to) ? -1 : next(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  NEXT(renameat)
  if (fails("renameat", from_folder, from, " %s", to)) return -1;
  return next(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  NEXT(renameat2)
  if (fails("renameat2", from_folder, from, " %s", to)) return -1;
  return next(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
  NEXT(unlink)
  return fails("unlink", AT_FDCWD, path, "%s", "") ? -1 : next(path);
}

int unlinkat(int folder, const char* path, int flags) {
  NEXT(unlinkat)
  return fails("unlinkat", folder, path, "%s", "") ? -1 : next(folder, path, flags);
}

int rmdir(const char* path) {
  NEXT(rmdir)
  return fails("rmdir", AT_FDCWD, path, "%s", "") ? -1 : next(path);
}

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir)
  return fails("mkdir", AT_FDCWD, path, " 0%o", mode) ? -1 : next(path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) {
  NEXT(mkdirat)
  return fails("mkdirat", folder, path, " 0%o", mode) ? -1 : next(folder, path, mode);
}

int fchmod(int fd, mode_t mode) {
  NEXT(fchmod)
  return fails("fchmod", fd, NULL, " 0%o", mode) ? -1 : next(fd, mode);
}

int chmod(const char* path, mode_t mode) {
  NEXT(chmod)
  return fails("chmod", AT_FDCWD, path, " 0%o", mode) ? -1 : next(path, mode);
}

int fchmodat(int folder, const char* path, mode_t mode, int flags) {
  NEXT(fchmodat)
  return fails("fchmodat", folder, path, " 0%o", mode) ? -1 : next(folder, path, mode, flags);
}

int fchown(int fd, uid_t owner, gid_t group) {
  NEXT(fchown)
  return fails("fchown", fd, NULL, " %d:%d", (int)owner, (int)group) ? -1 : next(fd, owner, group);
}

int flock(int fd, int operation) {
  NEXT(flock)
  const char* wanted = operation & LOCK_SH   ? "LOCK_SH"
                       : operation & LOCK_EX ? "LOCK_EX"
                                             : "LOCK_UN";
  const char* at_once = operation & LOCK_NB ? "|LOCK_NB" : "";
  return fails("flock", fd, NULL, " %s%s", wanted, at_once) ? -1 : next(fd, operation);
}

ssize_t readlink(const char* path, char* into, size_t size) {
  NEXT(readlink)
  return fails("readlink", AT_FDCWD, path, "%s", "") ? -1 : next(path, into, size);
}

#define STAT(name, type)                                                   \
  int name(const char* path, struct type* into) {                          \
    NEXT(name)                                                             \
    return fails(#name, AT_FDCWD, path, "%s", "") ? -1 : next(path, into); \
  }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTAT(name, type)                                          \
  int name(int fd, struct type* into) {                            \
    NEXT(name)                                                     \
    return fails(#name, fd, NULL, "%s", "") ? -1 : next(fd, into); \
  }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

#define FSTATAT(name, type)                                                             \
  int name(int folder, const char* path, struct type* into, int flags) {                \
    NEXT(name)                                                                          \
    return fails(#name, folder, path, "%s", "") ? -1 : next(folder, path, into, flags); \
  }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* into) {
  NEXT(statx)
  if (fails("statx", folder, path, "%s", "")) return -1;
  return next(folder, path, flags, mask, into);
}
