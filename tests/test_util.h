// What several tests need: stuttering sources, fresh folders, random seeds, runs of the program.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/system/byte_source.h"

namespace aggregate_power {

// Everything left in a source.
inline std::string read_all(ByteSource& source) { return read_up_to(source, std::string::npos); }

}  // namespace aggregate_power

namespace aggregate_power::test {

// How many random cases a test tries: of `full`, a twentieth with QUICK=1, as on each push.
inline int rounds(int full) {
  const char* const quick = std::getenv("QUICK");
  return quick != nullptr && std::string_view(quick) == "1" ? std::max(1, full / 20) : full;
}

// Bytes in memory, given out at most `most` at a time.
class StutterSource : public ByteSource {
 public:
  StutterSource(std::string bytes, std::size_t most) : bytes_(std::move(bytes)), most_(most) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min({most_, into.size(), bytes_.size() - at_});
    std::copy_n(bytes_.data() + at_, count, into.data());
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t most_;
  std::size_t at_ = 0;
};

inline constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

// A fresh folder, gone with its contents at the end; kept, and named, when the test failed.
class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::canonical(std::filesystem::temp_directory_path()) / "test.XXXXXX")
            .string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    if (testing::Test::HasFailure()) {
      fmt::print(stderr, "left behind: {}\n", path_);
    } else {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};

inline std::string put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string testdata(const std::string& name) { return std::string(TESTDATA) + '/' + name; }

// What a run of the built program left: its exit status (-1 when a signal ended it), what it said.
struct ProgramRun {
  int status = -1;
  std::string out;
  std::string err;
};

// The program with these words, in time zone UTC, in `folder`, reading `input`.
inline ProgramRun run_program(const std::vector<std::string>& words, std::string_view input = {},
                              const std::string& folder = "/") {
  const Folder files;
  const std::string in = put(files / "in", input);
  std::vector<std::string> all = {PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string out = files / "out";
  const std::string err = files / "err";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto redirect = [](const std::string& path, int flags, int to) {
      const int fd = ::open(path.c_str(), flags, 0600);
      if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(126);
    };
    redirect(in, O_RDONLY, 0);
    redirect(out, O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect(err, O_WRONLY | O_CREAT | O_TRUNC, 2);
    ::setenv("TZ", "UTC", 1);
    ::unsetenv("GPU_METRICS_CSV");
    ::unsetenv("REQUIRE_POWER");
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    ::execv(PROGRAM, arguments.data());
    ::_exit(127);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, bytes_of(out), bytes_of(err)};
}

// Another one in each run; $TEST_SEED repeats a run. Print it with what fails.
inline std::uint64_t fresh_seed() {
  const char* const given = std::getenv("TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

// Random numbers that are the same on every machine for a seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // From 0 to below `count`.
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  // From 0 to below 1, in steps of 2^-53.
  double fraction() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace aggregate_power::test
