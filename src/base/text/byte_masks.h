// Finds the bytes in a block of 64 that shape a CSV: bit i stands for byte i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

struct ByteMasks {
  std::uint64_t commas;
  std::uint64_t quotes;
  std::uint64_t controls;  // bytes up to 13: line breaks, tabs, NULs

  // Only those among the first `count` bytes (fewer than 64).
  ByteMasks first(std::size_t count) const {
    const std::uint64_t kept = (std::uint64_t{1} << count) - 1;
    return {commas & kept, quotes & kept, controls & kept};
  }
};

// The masks of the 64 bytes at `block`.
#if defined(__SSE2__)

inline ByteMasks masks_of(const char* block) {
  const __m128i comma = _mm_set1_epi8(',');
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i last_control = _mm_set1_epi8(13);
  ByteMasks masks{};
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + part);
    const auto bits = [part](__m128i equal) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal)))
             << (16 * part);
    };
    masks.commas |= bits(_mm_cmpeq_epi8(bytes, comma));
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, quote));
    masks.controls |= bits(_mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes));
  }
  return masks;
}

#else

// Eight bytes at a time in one integer. The bit order relies on the lowest byte being first.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

inline ByteMasks masks_of(const char* block) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  constexpr std::uint64_t kLowBits = ~kHighBits;
  // The high bit of each byte that is zero, then these eight bits side by side.
  const auto zero_bytes = [](std::uint64_t x) {
    return ~(((x & kLowBits) + kLowBits) | x | kLowBits);
  };
  const auto gather = [](std::uint64_t high_bits) {
    return ((high_bits >> 7) * 0x0102040810204080U) >> 56;
  };
  ByteMasks masks{};
  for (int part = 0; part < 8; ++part) {
    std::uint64_t bytes;
    std::memcpy(&bytes, block + 8 * part, 8);
    const std::uint64_t below_128 = ~bytes & kHighBits;
    const std::uint64_t above_13 = ((bytes & kLowBits) + kOnes * (127 - 13)) & kHighBits;
    masks.commas |= gather(zero_bytes(bytes ^ (kOnes * ','))) << (8 * part);
    masks.quotes |= gather(zero_bytes(bytes ^ (kOnes * '"'))) << (8 * part);
    masks.controls |= gather(below_128 & ~above_13) << (8 * part);
  }
  return masks;
}

#endif

// Baseline x86-64 has no instruction for this, and the compiler's fallback is a call.
inline std::uint32_t count_bits(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U);
  bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FU;
  return static_cast<std::uint32_t>((bits * 0x0101010101010101U) >> 56);
}

// Each bit becomes the parity of itself and all bits below it: with quotes, 1 from an opening
// quote up to the bit before the closing one.
inline std::uint64_t running_parity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace aggregate_power
