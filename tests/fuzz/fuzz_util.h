// What the fuzz targets share: a check that stops them, bytes in pieces, and files of an input.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "base/system/byte_source.h"

namespace aggregate_power::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Gives bytes in pieces of one size.
class PieceSource : public ByteSource {
 public:
  PieceSource(std::string_view text, std::size_t piece) : rest_(text), piece_(piece) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = rest_.copy(into.data(), std::min(into.size(), piece_));
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
  std::size_t piece_;
};

// A folder in memory, emptied for each input and gone at the end.
class Folder {
 public:
  Folder() : path_("/dev/shm/aggregate-power-fuzz." + std::to_string(::getpid())) { clear(); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string at(std::string_view name) const { return path_ + "/" + std::string(name); }
  void clear() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  void put(std::string_view name, std::string_view bytes) const {
    std::error_code ignored;
    const std::filesystem::path path = at(name);
    std::filesystem::create_directories(path.parent_path(), ignored);
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  // Each line "== NAME" begins a file. Names that would lead out of the folder are passed over.
  void put_sections(std::string_view text) const {
    constexpr int kMost = 12;
    for (int files = 0; files < kMost && text.starts_with("== "); ++files) {
      const std::size_t end_of_name = std::min(text.find('\n'), text.size());
      const std::string_view name = text.substr(3, end_of_name - 3);
      text.remove_prefix(std::min(end_of_name + 1, text.size()));
      const std::size_t next = text.find("\n== ");
      if (is_plain(name)) put(name, text.substr(0, next));
      text.remove_prefix(next == text.npos ? text.size() : next + 1);
    }
  }

 private:
  static bool is_plain(std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    constexpr std::size_t kLongest = 80;
    return !name.empty() && name.size() <= kLongest && !name.ends_with('/') &&
           name.find("..") == name.npos && name.find_first_not_of(kLetters) == name.npos;
  }

  std::string path_;
};

}  // namespace aggregate_power::fuzz
