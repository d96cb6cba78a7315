// The least that a backfill of a store must do: walk it and read its files with several threads.
//
//   store_read STORE [THREADS]      reads every byte
//   store_read --metadata STORE     one thread: the status of every file, and the bytes of the
//                                   audit records only
//
// Prints the files and the bytes read.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

std::atomic<long> files_seen;
std::atomic<long> bytes_read;

void read_whole(const std::string& path, std::vector<char>& buffer) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  while (true) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count <= 0) break;
    bytes_read += count;
  }
  close(fd);
}

// Readers take paths while the walk goes on.
class Paths {
 public:
  void add(std::string path) {
    const std::lock_guard lock(mutex_);
    paths_.push_back(std::move(path));
    changed_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // False when there will be none any more.
  bool take(std::string& path) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !paths_.empty(); });
    if (paths_.empty()) return false;
    path = std::move(paths_.back());
    paths_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> paths_;
  bool ended_ = false;
};

template <typename Found>
void walk(const std::string& folder, const Found& found) {
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  std::vector<std::string> folders;
  while (const dirent* const entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entry->d_type == DT_DIR) folders.push_back(folder + "/" + name);
    if (entry->d_type == DT_REG) found(folder + "/" + name, name);
  }
  closedir(entries);
  for (const std::string& below : folders) walk(below, found);
}

void read_all(const std::string& store, int threads) {
  Paths paths;
  std::vector<std::thread> readers;
  readers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    readers.emplace_back([&paths] {
      std::vector<char> buffer(kBufferBytes);
      std::string path;
      while (paths.take(path)) read_whole(path, buffer);
    });
  }
  walk(store, [&paths](const std::string& path, const std::string&) {
    ++files_seen;
    paths.add(path);
  });
  paths.end();
  for (std::thread& reader : readers) reader.join();
}

void read_metadata(const std::string& store) {
  std::vector<char> buffer(kBufferBytes);
  walk(store, [&buffer](const std::string& path, const std::string& name) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) ++files_seen;
    if (name.rfind("power_validation_", 0) == 0) read_whole(path, buffer);
  });
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::strcmp(words[1], "--metadata") == 0) {
    read_metadata(words[2]);
  } else if (count == 2 || count == 3) {
    read_all(words[1], count == 3 ? std::atoi(words[2]) : 2);
  } else {
    std::fprintf(stderr, "usage: store_read [--metadata] STORE [THREADS]\n");
    return 2;
  }
  std::printf("%ld files, %ld bytes\n", files_seen.load(), bytes_read.load());
}
