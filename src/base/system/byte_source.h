// A stream of bytes from any origin.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace aggregate_power {

// Enough of a file to tell its format.
inline constexpr std::size_t kHeadBytes = 64 * 1024;

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills the front of `into` and returns the number of bytes, 0 only at the end. Short counts are
  // allowed. Throws FileError if the bytes cannot be read.
  virtual std::size_t read(std::span<char> into) = 0;
};

// Reads to the end and drops what it reads.
inline void drain(ByteSource& source) {
  std::array<char, 65536> chunk;
  while (source.read(chunk) > 0) continue;
}

// Returns fewer than `limit` bytes only at the end. Memory: at most twice what is returned.
inline std::string read_up_to(ByteSource& source, std::size_t limit) {
  std::string bytes;
  std::array<char, 16 * 1024> chunk;  // small: each page of a frame is touched
  while (bytes.size() < limit) {
    const std::size_t room = std::min(limit - bytes.size(), chunk.size());
    const std::size_t count = source.read(std::span(chunk).first(room));
    if (count == 0) break;
    bytes.append(chunk.data(), count);
  }
  return bytes;
}

// Bytes that were read ahead, then the rest of their source.
class ResumedSource : public ByteSource {
 public:
  ResumedSource(std::string ahead, std::unique_ptr<ByteSource> rest)
      : ahead_(std::move(ahead)), rest_(std::move(rest)) {}
  std::size_t read(std::span<char> into) override {
    if (ahead_.empty()) return rest_->read(into);
    const std::size_t count = ahead_.copy(into.data(), into.size());
    ahead_.erase(0, count);
    return count;
  }

 private:
  std::string ahead_;
  std::unique_ptr<ByteSource> rest_;
};

// Bytes already in memory. They must outlive the source.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = rest_.size() < into.size() ? rest_.size() : into.size();
    std::memcpy(into.data(), rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

}  // namespace aggregate_power
