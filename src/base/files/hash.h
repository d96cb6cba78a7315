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

#include "base/files/file.h"
#include "base/system/byte_source.h"

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

struct sha256_ctx;

namespace aggregate_power {

// For content that arrives in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  // Of all so far: 64 lower-case digits. Starts over.
  std::string hex();

 private:
  std::unique_ptr<sha256_ctx> state_;
};

std::string sha256_of(std::string_view bytes);

// The digest of a whole file as it is stored. Throws FileError.
std::string sha256_of(const OpenedFile& file);
// The digest of what is left in a source. Throws what the source throws.
std::string sha256_of(ByteSource& source);

// Whether a text is `digits` lower-case hexadecimal digits.
bool is_lower_hex(std::string_view text, std::size_t digits);
inline bool is_sha256(std::string_view text) { return is_lower_hex(text, 64); }

}  // namespace aggregate_power
