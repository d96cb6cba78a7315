// Makes a Landlock ruleset of the places, and a seccomp filter of a table of system calls.
#include "base/system/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace aggregate_power {
namespace {

// ---- Files

constexpr std::uint64_t kTruncate = 1U << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE of newer headers
constexpr std::uint64_t kReads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWrites = kReads | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR;
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

// What a version can forbid; all of it is forbidden but for the places.
std::uint64_t handled_by(int version) {
  std::uint64_t handled = 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1;
  if (version >= 2) handled |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) handled |= kTruncate;
  return handled;
}

int landlock_version() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

std::vector<std::string>& places_in_force() {
  static std::vector<std::string> the_places;
  return the_places;
}

void note_place(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real) places_in_force().emplace_back(real.get());
}

// A pipe without a name cannot have a rule, and needs none.
void add_place(int ruleset, const std::string& path, std::uint64_t rights) {
  const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (place < 0) return;
  struct stat found {};
  const bool is_folder = ::fstat(place, &found) == 0 && S_ISDIR(found.st_mode);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = is_folder ? rights : rights & kOfFiles;
  rule.parent_fd = place;
  ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(place);
}

// Zones and character sets; the process's own part of /proc, and who holds locks.
std::vector<std::string> system_places() {
  std::vector<std::string> places = {"/etc/localtime", "/usr/share/zoneinfo",     "/usr/lib/locale",
                                     "/proc/self",     "/proc/self/exe",          "/proc/locks",
                                     "/dev/null",      "/sys/devices/system/cpu", "/dev/stdin"};
  for (const char* const variable : {"TZ", "TZDIR", "LOCPATH"}) {
    const char* text = std::getenv(variable);
    if (text != nullptr && *text == ':') ++text;
    if (text != nullptr && *text == '/') places.emplace_back(text);
  }
  return places;
}

bool confine_files(const Reach& reach, int version) {
  const std::uint64_t handled = handled_by(version);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled;
  const int ruleset = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (ruleset < 0) return false;
  for (const std::string& path : system_places()) add_place(ruleset, path, kReads);
  for (const std::string& path : reach.reads) add_place(ruleset, path, kReads);
  for (const std::string& path : reach.writes) add_place(ruleset, path, kWrites & handled);
  for (const std::string& path : reach.removes) {
    add_place(ruleset, path, LANDLOCK_ACCESS_FS_REMOVE_DIR);
  }
  const bool is_confined = ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  if (!is_confined) return false;
  for (const auto* const paths : {&reach.reads, &reach.writes}) {
    for (const std::string& path : *paths) note_place(path);
  }
  return true;
}

// ---- System calls

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;  // no filter
#endif

constexpr std::uint32_t kFirstOfX32 = 0x40000000;  // the same calls under other numbers

// A sanitizer looks for leaks by ptrace() of its own process.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
#else
constexpr bool is_sanitized = false;
#endif

// Calls that no confined command makes.
constexpr std::uint32_t kForbidden[] = {
    // the network, and what can stand for such calls
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_io_uring_setup, SYS_io_uring_enter,
    SYS_io_uring_register,
    // programs and other processes
    SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_shmget, SYS_shmat, SYS_semget,
    SYS_msgget, SYS_mq_open, SYS_setpriority, SYS_ioprio_set, SYS_sched_setparam,
    SYS_sched_setscheduler, SYS_sched_setattr, SYS_sched_setaffinity, SYS_migrate_pages,
    SYS_move_pages,
    // what Landlock does not see: attributes of files by their names
    SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
    SYS_lremovexattr, 463 /* setxattrat */, 466 /* removexattrat */, SYS_truncate,
    SYS_open_by_handle_at,
#if defined(__x86_64__)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_uselib, SYS_iopl,
    SYS_ioperm, SYS_modify_ldt,
#endif
    // the system
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree,
    SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff,
    SYS_acct, SYS_quotactl, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_sethostname, SYS_setdomainname, SYS_personality, SYS_syslog, SYS_vhangup};

// Requests by which a process types into its own terminal, or names who gets a file's signals.
constexpr std::uint32_t kForbiddenRequests[] = {TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP};
constexpr std::uint32_t kForbiddenCommands[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    refuse_unless(BPF_JEQ, kArchitecture);
    load(offsetof(seccomp_data, nr));
    if (kArchitecture == AUDIT_ARCH_X86_64) refuse_if(BPF_JGE, kFirstOfX32);
    for (const std::uint32_t call : kForbidden) refuse_if(BPF_JEQ, call);
    if (!is_sanitized) refuse_if(BPF_JEQ, SYS_ptrace);
    // abort() signals its own thread, and limits are asked for by 0; a number of a process is 32
    // bits.
    refuse_other(SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
    refuse_other(SYS_prlimit64, 0, 0);
    // utimensat() of an open file has no name.
    refuse_other(SYS_utimensat, 1, 0);
    refuse_other(SYS_utimensat, 1, 0, kHigh);
    refuse_any(SYS_ioctl, kForbiddenRequests);
    refuse_any(SYS_fcntl, kForbiddenCommands);
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }

  // For all threads of the process.
  bool install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
           0;
  }

 private:
  void add(sock_filter instruction) { code_.push_back(instruction); }
  // A half of an argument, counted from 0.
  void load_argument(std::size_t index, std::size_t half) {
    load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t) + half);
  }
  void load(std::size_t offset) {
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void refuse() { add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)); }
  void refuse_if(std::uint16_t comparison, std::uint32_t value) {
    add(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, 1));
    refuse();
  }
  void refuse_unless(std::uint16_t comparison, std::uint32_t value) {
    add(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 1, 0));
    refuse();
  }

  // Refuses a call whose argument is another one.
  void refuse_other(std::uint32_t call, std::size_t index, std::uint32_t value,
                    std::size_t half = 0) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    load_argument(index, half);
    refuse_unless(BPF_JEQ, value);
    load(offsetof(seccomp_data, nr));
  }
  // Refuses a call whose second argument is one of these; its low half counts.
  void refuse_any(std::uint32_t call, std::span<const std::uint32_t> values) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0,
                 static_cast<std::uint8_t>(1 + 2 * values.size() + 1)));
    load_argument(1, 0);
    for (const std::uint32_t value : values) refuse_if(BPF_JEQ, value);
    load(offsetof(seccomp_data, nr));
  }

  static constexpr std::size_t kHigh = 4;  // bytes to the high half, on processors of ours

  std::vector<sock_filter> code_;
};

bool has_seccomp() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return kArchitecture != 0 && ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

}  // namespace

Sandbox sandbox_of_kernel() { return {landlock_version(), has_seccomp()}; }

Sandbox confine(const Reach& reach) {
  Sandbox sandbox = sandbox_of_kernel();
  // Both ask for it: nothing that runs later may get more permissions than this process has.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  const bool are_files_confined =
      sandbox.landlock > 0 && !reach.everywhere && confine_files(reach, sandbox.landlock);
  if (!are_files_confined) sandbox.landlock = 0;
  sandbox.seccomp = sandbox.seccomp && Filter().install();
  return sandbox;
}

const std::vector<std::string>& confined_to() { return places_in_force(); }

}  // namespace aggregate_power
