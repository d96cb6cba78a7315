// Reading, locking and replacing files, on a real file system.
#include "base/files/file.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace file_test {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A fresh folder that everyone may use, gone with its contents at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::canonical(fs::temp_directory_path()) / "file_test.XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::ignore = chmod(path_.c_str(), 0777);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

  Names names() const {
    Names found;
    for (const auto& entry : fs::directory_iterator(path_))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};

std::string put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct stat status_of(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found;
}

mode_t mode_of(const std::string& path) { return status_of(path).st_mode & 07777; }

void replace(const std::string& path, std::string_view bytes) { PendingFile(path, bytes).commit(); }

// What the FileError says; empty when there is none.
std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

// What the FileError says when a process of its own does the work, after `prepare`.
std::string error_in_child(const std::function<void()>& prepare,
                           const std::function<void()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    const std::string error = error_of(work);
    std::ignore = write(ends[1], error.data(), error.size());
    _exit(0);
  }
  close(ends[1]);
  std::string error(4096, '\0');
  error.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], error.data(), 4096))));
  close(ends[0]);
  int how = 0;
  waitpid(child, &how, 0);
  return how == 0 ? error : "the child died";
}

// Root may do everything, so what others may not is tried as nobody.
void become_nobody() {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
}

int exit_status_of(pid_t child) {
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

bool is_locked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool refused = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return refused;
}

// The only name in the folder that is no `known` one.
std::string temporary_in(const Folder& folder, const std::string& known) {
  Names names = folder.names();
  std::erase(names, known);
  EXPECT_EQ(names.size(), 1u);
  return names.empty() ? "" : names.front();
}

// ---- Reading

constexpr FileKind kSmall = {"a file of this test", 2 * kMiB};

TEST(ReadFile, GivesEveryByte) {
  const Folder folder;
  for (const std::size_t size : {0u, 1u, 4096u, 1'000'001u}) {
    std::string bytes(size, 'x');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
    EXPECT_EQ(read_file(put(folder / "a", bytes), kSmall), bytes) << size;
  }
}

TEST(ReadFile, RefusesMoreThanItsKindMayHave) {
  const Folder folder;
  const std::string large = put(folder / "a", "x");
  fs::resize_file(large, 2 * kMiB);
  EXPECT_EQ(read_file(large, kSmall).size(), 2 * kMiB);
  for (const std::uint64_t bytes : {2 * kMiB + 1, 900 * kMiB}) {
    fs::resize_file(large, bytes);
    EXPECT_EQ(error_of([&] { read_file(large, kSmall); }),
              large + ": is larger than 2 MiB, the most that a file of this test may have");
  }
}

TEST(ReadFile, OpensRegularFilesOnly) {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder.path(), std::string("/dev/zero")}) {
    EXPECT_EQ(error_of([&] { read_file(path, kSmall); }), path + ": is not a regular file");
  }
}

TEST(ReadFile, SaysWhatTheSystemSaid) {
  const Folder folder;
  const std::string missing = folder / "missing";
  EXPECT_EQ(error_of([&] { read_file(missing, kSmall); }),
            missing + ": cannot open: No such file or directory");
  const std::string secret = put(folder / "secret", "x");
  chmod(secret.c_str(), 0);
  EXPECT_EQ(error_in_child(become_nobody, [&] { read_file(secret, kSmall); }),
            secret + ": cannot open: Permission denied");
}

TEST(ReadFile, KeepsTheNumberOfTheError) {
  try {
    read_file("/missing", kSmall);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
}

TEST(OpenSource, RefusesNamedPipes) {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string link = folder / "link";
  fs::create_symlink(pipe, link);
  for (const std::string& path : {pipe, link}) {
    EXPECT_EQ(
        error_of([&] { open_source(path); }),
        path +
            ": is a named pipe, and is not read; give a file, or /dev/stdin that leads to the pipe");
  }
  EXPECT_EQ(
      error_of([&] { opened_for_writing(pipe, O_WRONLY); }),
      pipe +
          ": is a named pipe, and is not written; give a file, or - for standard output if the option's help names it");
}

TEST(OpenSource, ReadsPipesWithoutAName) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  const auto source = open_source(name);
  close(ends[1]);
  EXPECT_EQ(read_up_to(*source, 10), "abc");
  close(ends[0]);
}

TEST(OpenSource, RefusesDevices) {
  for (const std::string path : {"/dev/zero", "/dev/random"}) {
    EXPECT_EQ(error_of([&] { open_source(path); }),
              path + ": is a device, and is not read; give a file or a pipe");
  }
  std::array<char, 3> into;
  EXPECT_EQ(open_source("/dev/null")->read(into), 0u);
}

TEST(OpenSource, FillsWhatItIsGivenInOrder) {
  const Folder folder;
  const auto source = open_source(put(folder / "a", "abcde"));
  std::array<char, 3> into;
  EXPECT_EQ(source->read(into), 3u);
  EXPECT_EQ(std::string(into.data(), 3), "abc");
  EXPECT_EQ(source->read(into), 2u);
  EXPECT_EQ(std::string(into.data(), 2), "de");
  EXPECT_EQ(source->read(into), 0u);
}

TEST(OpenSource, ReadsStandardInputAndLeavesItOpen) {
  const auto from_pipe = [] {
    int ends[2];
    std::ignore = pipe(ends);
    std::ignore = write(ends[1], "piped", 5);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
  };
  EXPECT_EQ(error_in_child(from_pipe,
                           [] {
                             if (read_all(*open_source("-")) != "piped")
                               throw FileError("-", "match", EIO);
                             if (fcntl(STDIN_FILENO, F_GETFD) < 0) {
                               throw FileError("-", "find it open", errno);
                             }
                           }),
            "");
}

TEST(OpenSource, CallsStandardInputByItsName) {
  EXPECT_EQ(error_in_child([] { close(STDIN_FILENO); }, [] { open_source("-"); }),
            "standard input: cannot open: Bad file descriptor");
  const auto from_folder = [] { dup2(open("/", O_RDONLY), STDIN_FILENO); };
  EXPECT_EQ(error_in_child(from_folder, [] { read_all(*open_source("-")); }),
            "standard input: cannot read: Is a directory");
}

// ---- Links

TEST(FileIdentity, IsThatOfTheFileWhateverItsNames) {
  const Folder folder;
  const std::string file = put(folder / "file", "x");
  const std::string copy = put(folder / "copy", "x");
  fs::create_symlink("file", folder / "link");
  fs::create_hard_link(file, folder / "hard");
  fs::create_symlink("missing", folder / "dangling");
  for (const std::string& name : {file, folder / "link", folder / "hard"}) {
    EXPECT_EQ(file_identity(name), file_identity(file)) << name;
    EXPECT_TRUE(is_same_file(name, file)) << name;
  }
  EXPECT_NE(file_identity(copy), file_identity(file));
  EXPECT_FALSE(is_same_file(copy, file));
  EXPECT_EQ(file_identity(folder / "missing"), folder / "missing");
  EXPECT_TRUE(is_same_file(folder / "missing", folder / "missing"));
  EXPECT_FALSE(is_same_file(folder / "missing", folder / "dangling"));
}

TEST(ResolveLinks, FollowsLinksToTheirEnd) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  put(folder / "sub/real", "x");
  fs::create_symlink("real", folder / "sub/second");
  fs::create_symlink("sub/second", folder / "first");
  fs::create_symlink("sub/free", folder / "dangling");
  fs::create_symlink(folder / "dangling", folder / "absolute");
  EXPECT_EQ(resolve_links(folder / "first"), folder / "sub/real");
  EXPECT_EQ(resolve_links(folder / "dangling"), folder / "sub/free");
  EXPECT_EQ(resolve_links(folder / "absolute"), folder / "sub/free");
  EXPECT_EQ(resolve_links(folder / "sub/../free"), folder / "free");
  EXPECT_EQ(resolve_links("free"), fs::current_path().string() + "/free");
  EXPECT_EQ(resolve_links("/free"), "/free");
}

TEST(ResolveLinks, SaysWhyThereIsNoEnd) {
  const Folder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  fs::create_symlink("missing/x", folder / "c");
  const std::string file = put(folder / "file", "x");
  EXPECT_EQ(error_of([&] { resolve_links(folder / "a"); }),
            folder / "a: cannot resolve: Too many levels of symbolic links");
  EXPECT_EQ(error_of([&] { resolve_links(folder / "c"); }),
            folder / "c: cannot find its folder: No such file or directory");
  EXPECT_EQ(error_of([&] { resolve_links(folder / "missing/x"); }),
            folder / "missing/x: cannot find its folder: No such file or directory");
  EXPECT_EQ(error_of([&] { resolve_links(folder / "missing/"); }),
            folder / "missing/: cannot find its folder: No such file or directory");
  EXPECT_EQ(error_of([&] { resolve_links(file + "/x"); }),
            file + "/x: cannot resolve: Not a directory");
  EXPECT_EQ(error_of([] { resolve_links(""); }), ": cannot resolve: No such file or directory");
}

TEST(ResolveWhatIsThere, KeepsTheNamesOfWhatIsNot) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink("sub", folder / "link");
  fs::create_symlink("../free", folder / "sub/dangling");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(resolve_what_is_there(folder / "link"), folder / "sub");
  EXPECT_EQ(resolve_what_is_there(folder / "link/a/b/c"), folder / "sub/a/b/c");
  EXPECT_EQ(resolve_what_is_there(folder / "link/dangling"), folder / "free");
  EXPECT_EQ(resolve_what_is_there(folder / "link/dangling/x"), folder / "free/x");
  EXPECT_EQ(resolve_what_is_there(folder / "loop/x"), folder / "loop/x");
  EXPECT_EQ(resolve_what_is_there("free/x"), fs::current_path().string() + "/free/x");
  EXPECT_EQ(resolve_what_is_there("/free/x"), "/free/x");
}

TEST(IsIn, GoesByWholeNames) {
  EXPECT_TRUE(is_in("/a/b", "/a/b"));
  EXPECT_TRUE(is_in("/a/b/c", "/a/b"));
  EXPECT_TRUE(is_in("/a", "/"));
  EXPECT_FALSE(is_in("/a/bc", "/a/b"));
  EXPECT_FALSE(is_in("/a", "/a/b"));
}

// ---- Replacing

TEST(PendingFile, ReplacesTheContentsOnlyWhenCommitted) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  const std::string bytes(3'000'000, 'n');
  PendingFile pending(path, bytes);
  EXPECT_EQ(bytes_of(path), "old");
  pending.commit();
  EXPECT_EQ(bytes_of(path), bytes);
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

TEST(PendingFile, MakesNoFolderOutsideOfItsStore) {
  const Folder folder;
  fs::create_directories(folder / "store/run");
  fs::create_directory(folder / "outside");
  fs::create_symlink("../outside", folder / "store/link");
  const std::string store = folder / "store";
  for (const std::string& path :
       {folder / "store/link/new/deep/a", folder / "store/../outside/new/a"}) {
    EXPECT_NE(
        error_of([&] { PendingFile(path, "x", true, Sync::at_once, store); }).find("leads out of"),
        std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "outside/new")) << path;
  }
  PendingFile(folder / "store/run/new/deep/a", "x", true, Sync::at_once, store).commit();
  EXPECT_EQ(bytes_of(folder / "store/run/new/deep/a"), "x");
}

TEST(PendingFile, LeavesNothingWhenItIsNotCommitted) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  { const PendingFile pending(path, "new"); }
  EXPECT_EQ(bytes_of(path), "old");
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

TEST(PendingFile, WaitsUnderANameOfItsOwn) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  const PendingFile pending(path, "new");
  const std::string name = temporary_in(folder, "agg.json");
  ASSERT_EQ(name.size(), std::string(".agg.json.XXXXXXXX.aggregate-power.tmp").size());
  EXPECT_EQ(name.substr(0, 10), ".agg.json.");
  EXPECT_EQ(name.substr(18), ".aggregate-power.tmp");
  EXPECT_EQ(bytes_of(folder / name), "new");
  EXPECT_TRUE(is_locked(folder / name));
}

TEST(PendingFile, WritesNoBytesToo) {
  const Folder folder;
  replace(put(folder / "a", "old"), "");
  EXPECT_EQ(bytes_of(folder / "a"), "");
}

TEST(PendingFile, KeepsTheMode) {
  const Folder folder;
  for (const mode_t mode : {0600u, 0664u, 0444u, 01640u, 06755u}) {
    const std::string path = put(folder / std::to_string(mode), "old");
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    replace(path, "new");
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_EQ(bytes_of(path), "new");
  }
}

TEST(PendingFile, GivesANewFileTheUsualMode) {
  const Folder folder;
  const mode_t before = umask(027);
  replace(folder / "new", "x");
  umask(before);
  EXPECT_EQ(mode_of(folder / "new"), 0640u);  // 0666 less 027
}

TEST(PendingFile, KeepsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  ASSERT_EQ(chown(path.c_str(), 1234, 5678), 0);
  ASSERT_EQ(chmod(path.c_str(), 06750), 0);
  replace(path, "new");
  EXPECT_EQ(status_of(path).st_uid, 1234u);
  EXPECT_EQ(status_of(path).st_gid, 5678u);
  EXPECT_EQ(mode_of(path), 06750u);
}

TEST(PendingFile, KeepsTheGroupAloneWhereTheOwnerIsOutOfReach) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can set this up";
  const Folder folder;
  const auto become_member = [] {
    const gid_t group = 5678;
    if (setgroups(1, &group) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
  };
  for (const gid_t group : {5678u, 1u}) {
    const std::string path = put(folder / std::to_string(group), "old");
    ASSERT_EQ(chown(path.c_str(), 1234, group), 0);
    EXPECT_EQ(error_in_child(become_member, [&] { replace(path, "new"); }), "");
    EXPECT_EQ(bytes_of(path), "new");
    EXPECT_EQ(status_of(path).st_uid, 65534u);
    EXPECT_EQ(status_of(path).st_gid, group == 5678u ? 5678u : 65534u);
  }
}

TEST(PendingFile, ReplacesWhatALinkPointsToAndKeepsTheLink) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  put(folder / "sub/link", "old");
  fs::create_symlink("sub/link", folder / "link");
  {
    PendingFile pending(folder / "link", "new");
    EXPECT_EQ(folder.names(), (Names{"link", "sub"}));  // it waits beside the file, not the link
    pending.commit();
  }
  EXPECT_EQ(fs::read_symlink(folder / "link"), "sub/link");
  EXPECT_EQ(bytes_of(folder / "sub/link"), "new");
}

TEST(PendingFile, RefusesALinkToAnotherName) {
  const Folder folder;
  const std::string precious = put(folder / "precious", "old");
  const std::string link = folder / "link";
  fs::create_symlink("precious", folder / "hop");
  for (const char* target : {"precious", "hop", "free", "./precious"}) {
    fs::remove(link);
    fs::create_symlink(target, link);
    const std::string end = std::string(target) == "free" ? folder / "free" : precious;
    const std::string why =
        link + ": leads to " + end + ", which is another file, and is not written";
    EXPECT_EQ(error_of([&] { PendingFile(link, "new"); }), why) << target;
    EXPECT_EQ(error_of([&] { require_replaceable(link); }), why) << target;
    EXPECT_EQ(error_of([&] { replace_file(link, "new"); }), why) << target;
  }
  EXPECT_EQ(bytes_of(precious), "old");
  EXPECT_FALSE(fs::exists(folder / "free"));
}

TEST(PendingFile, MakesWhatADanglingLinkPointsTo) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/link", folder / "link");
  replace(folder / "link", "new");
  EXPECT_EQ(fs::read_symlink(folder / "link"), "sub/link");
  EXPECT_EQ(bytes_of(folder / "sub/link"), "new");
}

TEST(PendingFile, DoesNotWriteToOtherNamesOfTheFile) {
  const Folder folder;
  put(folder / "a", "old");
  fs::create_hard_link(folder / "a", folder / "b");
  replace(folder / "a", "new");
  EXPECT_EQ(bytes_of(folder / "b"), "old");
}

TEST(PendingFile, MakesMissingFoldersWhenAsked) {
  const Folder folder;
  PendingFile(folder / "a/b//c/out.json", "new", true).commit();
  EXPECT_EQ(bytes_of(folder / "a/b/c/out.json"), "new");
  PendingFile(folder / "a/b/c/out.json", "newer", true).commit();
  EXPECT_EQ(bytes_of(folder / "a/b/c/out.json"), "newer");
  EXPECT_EQ(error_of([&] { replace(folder / "d/out.json", "new"); }),
            folder / "d/out.json: cannot find its folder: No such file or directory");
}

TEST(PendingFile, SaysWhichFolderCannotBeMade) {
  const Folder folder;
  chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(error_in_child(become_nobody, [&] { PendingFile(folder / "a/b/out", "new", true); }),
            folder / "a: cannot make folder: Permission denied");
  chmod(folder.path().c_str(), 0777);
}

TEST(PendingFile, MakesNoFoldersInWhatIsNone) {
  const Folder folder;
  const std::string file = put(folder / "file", "x");
  for (const char* below : {"/out.json", "/sub/out.json"}) {
    EXPECT_EQ(error_of([&] { PendingFile(file + below, "new", true); }),
              file + below + ": cannot resolve: Not a directory");
  }
}

TEST(PendingFile, MakesNoFoldersWhereWeMayNotLook) {
  const Folder folder;
  const auto go_where_we_may_not_look = [&] {
    std::ignore = chdir(folder.path().c_str());
    chmod(folder.path().c_str(), 0);
    become_nobody();
  };
  for (const char* path : {"out.json", "a/b/out.json"}) {
    EXPECT_EQ(error_in_child(go_where_we_may_not_look, [&] { PendingFile(path, "new", true); }),
              std::string(path) + ": cannot resolve: Permission denied");
    chmod(folder.path().c_str(), 0777);
  }
}

TEST(PendingFile, RefusesWhatIsNoRegularFile) {
  const Folder folder;
  const std::string pipe_path = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { PendingFile(folder.path(), "new"); }),
            folder.path() + ": cannot replace: Is a directory");
  EXPECT_EQ(error_of([&] { PendingFile(pipe_path, "new"); }),
            pipe_path + ": cannot replace a special file: Operation not supported");
  EXPECT_EQ(folder.names(), Names{"pipe"});
}

TEST(PendingFile, LeavesNothingInAFolderThatTakesNoFiles) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  const std::string path = put(folder / "sub/agg.json", "old");
  chmod((folder / "sub").c_str(), 0555);
  chmod(path.c_str(), 0666);
  EXPECT_EQ(error_in_child(become_nobody, [&] { replace(path, "new"); }),
            path + ": cannot create a temporary beside it: Permission denied");
  EXPECT_EQ(bytes_of(path), "old");
  chmod((folder / "sub").c_str(), 0777);
}

TEST(PendingFile, ReplacesInAFolderThatCannotBeListed) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  const std::string path = put(folder / "sub/agg.json", "old");
  chmod((folder / "sub").c_str(), 0333);
  EXPECT_EQ(error_in_child(become_nobody, [&] { replace(path, "new"); }), "");
  chmod((folder / "sub").c_str(), 0777);
  EXPECT_EQ(bytes_of(path), "new");
}

TEST(PendingFile, LeavesNothingOnAFullDisk) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  // As good as a full disk: the first write is cut short, the next one fails.
  const auto limit_files = [] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  EXPECT_EQ(error_in_child(limit_files, [&] { replace(path, std::string(1001, 'n')); }),
            path + ": cannot write: File too large");
  EXPECT_EQ(bytes_of(path), "old");
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

// ---- Bytes that come in pieces

// Whether only `names` are left, once what a killed process's keeper does is done.
bool has_only(const Folder& folder, const Names& names) {
  for (int i = 0; i < 1000 && folder.names() != names; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return folder.names() == names;
}

TEST(StreamedFile, ReplacesTheContentsOnlyWhenCommitted) {
  const Folder folder;
  const std::string path = put(folder / "out.csv", "old");
  chmod(path.c_str(), 0640);
  StreamedFile file(path);
  const std::string piece(3'000'000, 'n');
  file.append(piece);
  file.append("");
  file.append("end");
  EXPECT_EQ(bytes_of(path), "old");
  EXPECT_EQ(folder.names().size(), 2u);
  file.commit();
  EXPECT_EQ(bytes_of(path), piece + "end");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  EXPECT_EQ(folder.names(), Names{"out.csv"});
}

TEST(StreamedFile, LeavesAFileOfTheSameBytesAlone) {
  const Folder folder;
  const std::string path = put(folder / "out.csv", "one two");
  const std::string identity = file_identity(path);
  const auto written = [&](std::string_view piece) {
    StreamedFile file(path);
    file.append("one ");
    file.append(piece);
    file.commit();
    return file_identity(path) != identity;
  };
  EXPECT_FALSE(written("two"));
  EXPECT_TRUE(written("2wo"));
  EXPECT_EQ(bytes_of(path), "one 2wo");
  EXPECT_EQ(folder.names(), Names{"out.csv"});
}

TEST(StreamedFile, LeavesNothingUnlessCommitted) {
  const Folder folder;
  {
    auto first = std::make_unique<StreamedFile>(folder / "first");
    StreamedFile second(folder / "second");
    first->append("some");
    first.reset();  // though the second one's keeper has its descriptors too
    EXPECT_EQ(folder.names().size(), 1u);
    second.append("more");
  }
  EXPECT_EQ(folder.names(), Names());
}

TEST(StreamedFile, LeavesNothingOnAFullDisk) {
  const Folder folder;
  const std::string path = put(folder / "out.csv", "old");
  const auto limit_files = [] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const auto write = [&] {
    StreamedFile file(path);
    file.append(std::string(999, 'n'));
    file.append("nn");
  };
  EXPECT_EQ(error_in_child(limit_files, write), path + ": cannot write: File too large");
  EXPECT_EQ(bytes_of(path), "old");
  EXPECT_TRUE(has_only(folder, Names{"out.csv"}));
}

TEST(StreamedFile, LeavesNothingWhenItsProcessIsKilled) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const Folder folder;
    const std::string path = put(folder / "out.csv", "old");
    const pid_t child = fork();
    if (child == 0) {
      StreamedFile file(path);
      file.append("new");
      raise(signal);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(has_only(folder, Names{"out.csv"}));
    EXPECT_EQ(bytes_of(path), "old");
  }
}

TEST(StreamedFile, SaysWhyItCannotBePutInPlace) {
  const Folder folder;
  const std::string path = folder / "out";
  EXPECT_EQ(error_of([&] { StreamedFile(folder / "missing/out"); }),
            folder / "missing/out: cannot find its folder: No such file or directory");
  StreamedFile file(path);
  file.append("new");
  fs::create_directory(path);
  EXPECT_EQ(error_of([&] { file.commit(); }), path + ": cannot replace: Is a directory");
  EXPECT_EQ(folder.names(), Names{"out"});
}

TEST(PendingFile, LeavesNothingWhenTheRenameFails) {
  const Folder folder;
  const std::string path = folder / "out";
  PendingFile pending(path, "new");
  fs::create_directory(path);
  EXPECT_EQ(error_of([&] { pending.commit(); }), path + ": cannot replace: Is a directory");
  EXPECT_EQ(folder.names(), Names{"out"});
}

TEST(PendingFile, ReplacesOnlyWhatIsExpectedWhereThatIsAsked) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  PendingFile good(path, "new");
  good.commit_over("old");
  EXPECT_EQ(bytes_of(path), "new");
  EXPECT_TRUE(good.in_place());
  EXPECT_EQ(folder.names(), Names{"agg.json"});

  PendingFile late(path, "newer");
  put(path, "new!");
  EXPECT_EQ(error_of([&] { late.commit_over("new"); }), path + ": was changed while it was in use");
  EXPECT_EQ(bytes_of(path), "new!");
  EXPECT_FALSE(late.in_place());
  EXPECT_EQ(folder.names(), Names{"agg.json"});

  {  // What is gone is not made again.
    PendingFile gone(path, "newer");
    fs::remove(path);
    EXPECT_EQ(error_of([&] { gone.commit_over("new!"); }),
              path + ": cannot open: No such file or directory");
  }
  EXPECT_EQ(folder.names(), Names());
}

// Whoever owns a folder may exchange it for a link at any instant.
TEST(PendingFile, StaysInTheFolderThatItWasPreparedIn) {
  const Folder folder;
  fs::create_directories(folder / "store/run");
  fs::create_directories(folder / "outside");
  const std::string path = put(folder / "store/run/agg.json", "old");
  put(folder / "outside/agg.json", "old");
  const auto exchange = [&] {
    fs::rename(folder / "store/run", folder / "store/moved");
    fs::create_directory_symlink(folder / "outside", folder / "store/run");
  };
  PendingFile pending(path, "new", false, Sync::at_once, folder / "store");
  exchange();
  pending.commit_over("old");
  EXPECT_EQ(bytes_of(folder / "store/moved/agg.json"), "new");
  EXPECT_EQ(bytes_of(folder / "outside/agg.json"), "old");
  EXPECT_EQ(error_of([&] { PendingFile(path, "new", false, Sync::at_once, folder / "store"); }),
            path + ": leads out of " + (folder / "store") + ", to " + (folder / "outside") +
                ", and is not written");
  EXPECT_EQ(error_of([&] { remove_file(path, folder / "store"); }),
            path + ": leads out of " + (folder / "store") + ", to " + (folder / "outside") +
                ", and is not written");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "outside"), {}), 1);
}

TEST(FormerFile, IsPutBackOnlyWithinItsFolder) {
  const Folder folder;
  fs::create_directories(folder / "store/run");
  fs::create_directories(folder / "outside");
  const FormerFile none(folder / "store/run/audit.json", folder / "store");
  put(folder / "outside/audit.json", "precious");
  fs::rename(folder / "store/run", folder / "store/moved");
  fs::create_directory_symlink(folder / "outside", folder / "store/run");
  EXPECT_NE(error_of([&] { none.put_back(); }), "");
  EXPECT_EQ(bytes_of(folder / "outside/audit.json"), "precious");
}

// It costs nothing to make, and hours to read.
TEST(OpenedFile, IsNotAFileOfHoles) {
  const Folder folder;
  const std::string path = put(folder / "hole.csv", "timestamp,power\n");
  fs::resize_file(path, std::uintmax_t{3} << 30);
  const std::string fault =
      path +
      ": has holes of more than 1 GiB, where nothing was written, and is not read; write it again without them";
  EXPECT_EQ(error_of([&] { OpenedFile file(path); }), fault);
  EXPECT_EQ(error_of([&] { opened_regular(path); }), fault);
  EXPECT_EQ(error_of([&] { open_source(path); }), fault);
  fs::resize_file(path, std::uintmax_t{1} << 30);
  EXPECT_EQ(OpenedFile(path).size(), std::uintmax_t{1} << 30);
}

TEST(FormerFile, IsPutBackWithItsTime) {
  const Folder folder;
  const std::string path = put(folder / "audit.json", "old");
  const fs::file_time_type time = fs::last_write_time(path) - std::chrono::hours(1);
  fs::last_write_time(path, time);
  const FormerFile former(path);
  put(path, "new");
  former.put_back();
  EXPECT_EQ(bytes_of(path), "old");
  EXPECT_EQ(fs::last_write_time(path), time);
  EXPECT_EQ(folder.names(), Names{"audit.json"});
}

TEST(FormerFile, IsRemovedWhereThereWasNone) {
  const Folder folder;
  fs::create_symlink("real", folder / "link");
  const FormerFile former(folder / "link");
  put(folder / "real", "new");
  former.put_back();
  EXPECT_EQ(folder.names(), Names{"link"});
}

TEST(PendingFile, NamesTheFileAsTheCallerDid) {
  const Folder folder;
  const auto go_there = [&] { std::ignore = chdir(folder.path().c_str()); };
  fs::create_directory(folder / "sub");
  EXPECT_EQ(error_in_child(go_there, [] { replace("sub", "new"); }),
            "sub: cannot replace: Is a directory");
}

TEST(PendingFile, TwoForOneTargetDoNotMeet) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  PendingFile first(path, "first");
  PendingFile second(path, "second");
  EXPECT_EQ(folder.names().size(), 3u);
  second.commit();
  EXPECT_EQ(bytes_of(path), "second");
  first.commit();
  EXPECT_EQ(bytes_of(path), "first");
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

TEST(PendingFile, CutsLongNamesForItsTemporary) {
  const struct {
    std::string name;
    std::string start;  // of the temporary: 255 - 30 = 225 bytes are left for the name
  } kCases[] = {
      {std::string(225, 'a'), '.' + std::string(225, 'a') + '.'},
      {std::string(226, 'a'), '.' + std::string(225, 'a') + '.'},
      {std::string(255, 'a'), '.' + std::string(225, 'a') + '.'},
      {std::string(224, 'a') + "\u00e4b", '.' + std::string(224, 'a') + '.'},  // no half character
  };
  for (const auto& [name, start] : kCases) {
    const Folder folder;
    {
      PendingFile pending(folder / name, "new");
      const std::string temporary = temporary_in(folder, "");
      EXPECT_LE(temporary.size(), 255u);
      EXPECT_EQ(temporary.substr(0, temporary.size() - 28), start);
      pending.commit();
    }
    EXPECT_EQ(folder.names(), Names{name});
  }
}

TEST(PendingFile, RefusesNamesThatAreTooLong) {
  const Folder folder;
  const std::string path = folder / std::string(256, 'a');
  EXPECT_EQ(error_of([&] { replace(path, "new"); }), path + ": cannot resolve: File name too long");
}

// ---- Temporaries of killed runs

TEST(RemoveStaleTemporaries, RemovesWhatAKilledRunLeft) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  const pid_t child = fork();
  if (child == 0) {
    const PendingFile pending(path, "new");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(folder.names().size(), 2u);
  remove_stale_temporaries(path);
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

TEST(RemoveStaleTemporaries, KeepsThoseOfLivingWriters) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  PendingFile pending(path, "new");
  remove_stale_temporaries(path);
  EXPECT_EQ(folder.names().size(), 2u);
  pending.commit();
  EXPECT_EQ(bytes_of(path), "new");
}

TEST(RemoveStaleTemporaries, KnowsItsOwnByTheName) {
  const Folder folder;
  const Names stale = {".agg.json.abcdefgh.aggregate-power.tmp",
                       ".other.json.234567zz.aggregate-power.tmp",
                       "..abcdefgh.aggregate-power.tmp"};
  Names others = {".agg.json.ABCDEFGH.aggregate-power.tmp",  // no letters of ours
                  ".agg.json.abcdefg.aggregate-power.tmp",
                  ".agg.jsonabcdefgh.aggregate-power.tmp",
                  ".abcdefgh.aggregate-power.tmp",
                  ".agg.json.abcdefgh.aggregate-power.tmp~",
                  ".aggregate-power.tmp",
                  "agg.json.abcdefgh.aggregate-power.tmp"};
  for (const std::string& name : stale) put(folder / name, "x");
  for (const std::string& name : others) put(folder / name, "x");
  fs::create_directory(folder / ".folder.abcdefgh.aggregate-power.tmp");
  fs::create_symlink("agg.json", folder / ".link.abcdefgh.aggregate-power.tmp");
  mkfifo((folder / ".pipe.abcdefgh.aggregate-power.tmp").c_str(), 0600);
  for (const char* kind : {"folder", "link", "pipe"}) {
    others.push_back(std::string(".") + kind + ".abcdefgh.aggregate-power.tmp");
  }
  std::sort(others.begin(), others.end());
  remove_stale_temporaries(folder / "agg.json");
  EXPECT_EQ(folder.names(), others);
}

TEST(RemoveStaleTemporaries, RemovesReadOnlyOnesToo) {
  const Folder folder;
  const auto make_and_sweep = [&] {
    const std::string stale = put(folder / ".a.abcdefgh.aggregate-power.tmp", "x");
    chmod(stale.c_str(), 0444);
    remove_stale_temporaries(folder / "a");
  };
  EXPECT_EQ(error_in_child(become_nobody, make_and_sweep), "");
  EXPECT_EQ(folder.names(), Names());
}

TEST(RemoveStaleTemporaries, LooksWhereTheLinkLeads) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/agg.json", folder / "link");
  put(folder / "sub/.agg.json.abcdefgh.aggregate-power.tmp", "x");
  remove_stale_temporaries(folder / "link");
  EXPECT_TRUE(fs::is_empty(folder / "sub"));
}

TEST(RemoveStaleTemporaries, LooksOnceThroughAFolder) {
  const Folder folder;
  remove_stale_temporaries(folder / "a");
  put(folder / ".a.abcdefgh.aggregate-power.tmp", "x");
  remove_stale_temporaries(folder / "b");
  EXPECT_EQ(folder.names(), Names{".a.abcdefgh.aggregate-power.tmp"});
}

TEST(RemoveStaleTemporaries, SaysNothingAboutFoldersItCannotRead) {
  const Folder folder;
  remove_stale_temporaries(folder / "missing/agg.json");
  remove_stale_temporaries("");
}

// Runs begin, and so tidy up, while others write: no writer may lose its file.
TEST(RemoveStaleTemporaries, DoesNotDisturbWritersThatComeAndGo) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  const pid_t writer = fork();
  if (writer == 0) {
    const auto write_often = [&] {
      for (int i = 0; i < 50; ++i) replace(path, "new");
    };
    _exit(error_of(write_often).empty() ? 0 : 1);
  }
  siginfo_t ended = {};
  while (waitid(P_PID, static_cast<id_t>(writer), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    const pid_t sweeper = fork();  // a new process looks through the folder anew
    if (sweeper == 0) {
      remove_stale_temporaries(path);
      _exit(0);
    }
    EXPECT_EQ(exit_status_of(sweeper), 0);
  }
  EXPECT_EQ(exit_status_of(writer), 0);
  EXPECT_EQ(bytes_of(path), "new");
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

// ---- Locks

TEST(FileLock, IsHeldUntilItsEnd) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "x");
  {
    const FileLock lock(path);
    EXPECT_TRUE(is_locked(path));
  }
  EXPECT_FALSE(is_locked(path));
}

TEST(FileLock, FollowsLinks) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "x");
  fs::create_symlink("agg.json", folder / "link");
  const FileLock lock(folder / "link");
  EXPECT_TRUE(is_locked(path));
}

TEST(FileLock, EndsWithItsHolder) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "x");
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(path);
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_locked(path));
}

TEST(FileLock, PassesToTheFileThatTookThePlace) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "old");
  std::optional<FileLock> old_lock(std::in_place, path);
  std::atomic<bool> started = false;
  std::atomic<bool> is_free = false;
  std::thread waiting([&] {
    started = true;
    const FileLock lock(path);
    EXPECT_TRUE(is_free);
    EXPECT_TRUE(is_locked(path));
  });
  while (!started) std::this_thread::yield();
  // Whether the thread waits for the old file already or has not come to it yet, it must not go on
  // before the new one is free too.
  PendingFile(path, "new").commit();
  std::optional<FileLock> new_lock(std::in_place, path);
  old_lock.reset();
  is_free = true;
  new_lock.reset();
  waiting.join();
}

TEST(FileLock, LosesNoUpdate) {
  const Folder folder;
  const std::string path = put(folder / "count", "0");
  const auto count_up = [&] {
    for (int i = 0; i < 25; ++i) {
      const FileLock lock(path);
      replace(path, std::to_string(std::stoi(read_file(path, kSmall)) + 1));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(count_up);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bytes_of(path), "100");  // 4 threads, 25 each
}

TEST(FileLock, SaysWhyTheFileIsNotToBeWritten) {
  const Folder folder;
  const std::string path = put(folder / "agg.json", "x");
  const std::string pipe_path = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  chmod(path.c_str(), 0444);
  EXPECT_EQ(error_in_child(become_nobody, [&] { FileLock lock(path); }),
            path + ": cannot open for writing: Permission denied");
  EXPECT_EQ(error_of([&] { FileLock lock(folder / "missing"); }),
            folder / "missing: cannot open for writing: No such file or directory");
  EXPECT_EQ(error_of([&] { FileLock lock(folder.path()); }),
            folder.path() + ": cannot open for writing: Is a directory");
  EXPECT_EQ(error_of([&] { FileLock lock(pipe_path); }),
            pipe_path + ": cannot replace a special file: Operation not supported");
}

}  // namespace file_test
}  // namespace aggregate_power
