// Hashes that are the same on every machine and in every version (xxHash's XXH3). They are fast,
// and no protection against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/byte_source.h"
#include "base/files/file.h"

struct XXH3_state_s;

namespace aggregate_power {

// For a short text, such as a name.
std::uint64_t text_hash(std::string_view text);

// For content that arrives in pieces.
class ContentHash {
 public:
  ContentHash();
  void add(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_; }
  std::string hex() const;  // of all so far: 32 digits

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
  std::uint64_t bytes_ = 0;
};

// The hash of a whole file as it is stored, in the form of ContentHash::hex(). Throws FileError.
std::string hash_of(const OpenedFile& file);

// Hashes what is read through it. `hash` must outlive it.
class HashingSource : public ByteSource {
 public:
  HashingSource(std::unique_ptr<ByteSource> source, ContentHash& hash)
      : source_(std::move(source)), hash_(hash) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_->read(into);
    hash_.add({into.data(), count});
    return count;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  ContentHash& hash_;
};

}  // namespace aggregate_power
