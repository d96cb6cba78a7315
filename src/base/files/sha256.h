// SHA-256: the digests that others publish of files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/system/byte_source.h"
#include "base/files/file.h"

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
