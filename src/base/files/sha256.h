// SHA-256 of content that others publish digests of. Content of our own is compared by ContentHash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/byte_source.h"

namespace aggregate_power {

// 64 lower-case hexadecimal digits.
std::string sha256_of(std::string_view bytes);
// Reads the source to its end. Throws what the source throws.
std::string sha256_of(ByteSource& source);

bool is_sha256(std::string_view text);  // 64 lower-case hexadecimal digits

}  // namespace aggregate_power
