// Bytes in order, wherever they come from.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills the front of `into` and says how many bytes that were; 0 only at the end. Short
  // counts are allowed. Throws FileError when the bytes cannot be had.
  virtual std::size_t read(std::span<char> into) = 0;
};

// All that is left of a source.
inline std::string read_all(ByteSource& source) {
  std::string text;
  std::array<char, 65536> chunk;
  while (const std::size_t count = source.read(chunk)) text.append(chunk.data(), count);
  return text;
}

// Bytes that are in memory already. They must outlive the source.
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
