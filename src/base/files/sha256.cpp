// Computes SHA-256 with nettle, which a static libarchive needs anyway.
#include "base/files/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// Large, so that the system is asked rarely.
constexpr std::size_t kChunkBytes = 256 * 1024;

}  // namespace

Sha256::Sha256() : state_(std::make_unique<sha256_ctx>()) { sha256_init(state_.get()); }

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  sha256_update(state_.get(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(state_.get(), digest.size(), digest.data());
  std::string hex;
  for (const std::uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_of(const OpenedFile& file) {
  Sha256 hash;
  std::vector<char> chunk(kChunkBytes);
  std::uint64_t at = 0;
  while (const std::size_t count = file.read_at(at, chunk)) {
    hash.add({chunk.data(), count});
    at += count;
  }
  return hash.hex();
}

std::string sha256_of(ByteSource& source) {
  Sha256 hash;
  std::vector<char> chunk(kChunkBytes);
  while (const std::size_t count = source.read(chunk)) hash.add({chunk.data(), count});
  return hash.hex();
}

bool is_lower_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace aggregate_power
