// SHA-256 by Nettle.
#include "base/files/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

class Sha256 {
 public:
  Sha256() { sha256_init(&context_); }
  void add(std::string_view bytes) {
    sha256_update(&context_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  std::string finish() {
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
    sha256_digest(&context_, digest.size(), digest.data());
    std::string text;
    for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  sha256_ctx context_;
};

}  // namespace

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string sha256_of(ByteSource& source) {
  Sha256 hash;
  std::array<char, 65536> buffer;
  while (const std::size_t count = source.read(buffer)) {
    hash.add({buffer.data(), count});
  }
  return hash.finish();
}

bool is_sha256(std::string_view text) {
  return text.size() == 2 * std::size_t{SHA256_DIGEST_SIZE} &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace aggregate_power
