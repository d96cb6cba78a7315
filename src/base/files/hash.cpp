// Calls xxHash.
#include "base/files/hash.h"

#include <nettle/sha2.h>
#include <xxhash.h>

#include <array>
#include <new>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace aggregate_power {

std::uint64_t text_hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

ContentHash::ContentHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  std::ignore = XXH3_128bits_reset(state_.get());
}

void ContentHash::add(std::string_view bytes) {
  std::ignore = XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

std::string ContentHash::hex() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

void ContentHash::Free::operator()(XXH3_state_s* state) const {
  std::ignore = XXH3_freeState(state);
}

std::string hash_of(const OpenedFile& file) {
  ContentHash hash;
  HashingSource source(file.source(), hash);
  std::array<char, 65536> chunk;
  while (source.read(chunk) > 0) {
  }
  return hash.hex();
}

// ---- Computes SHA-256 with nettle, which a static libarchive needs anyway.

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
