// SHA-256 (FIPS 180-4), the digest by which packages and their records name files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/file.h"

namespace aggregate_power {

// For content that arrives in pieces.
class Sha256 {
 public:
  void add(std::string_view bytes);
  std::string hex() const;  // of all so far: 64 digits, lower case

 private:
  void take_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};  // not yet full
  std::uint64_t bytes_ = 0;
};

// Of a whole file as it is stored. Throws FileError.
std::string sha256_of(const OpenedFile& file);

}  // namespace aggregate_power
