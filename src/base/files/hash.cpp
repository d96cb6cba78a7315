// Calls xxHash.
#include "base/files/hash.h"

#include <array>
#include <new>
#include <tuple>

#include <xxhash.h>

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

}  // namespace aggregate_power
