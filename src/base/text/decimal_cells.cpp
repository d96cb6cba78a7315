// Learns where the digits of a row are, and reads the rows that are laid out like it.
#include "base/text/decimal_cells.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostCharacters = 8;

constexpr std::uint64_t all_bytes(std::uint8_t byte) { return 0x0101010101010101U * byte; }

std::uint64_t eight_characters(const char* at) {
  std::uint64_t characters = 0;
  std::memcpy(&characters, at, sizeof(characters));
  return characters;
}

// The first point among the characters; `size` if there is none.
std::size_t point_in(std::uint64_t characters, std::size_t size) {
  const std::uint64_t zeros = characters ^ all_bytes('.');
  const std::uint64_t found = (zeros - all_bytes(1)) & ~zeros & all_bytes(0x80);
  return std::min(static_cast<std::size_t>(std::countr_zero(found)) / 8, size);
}

// Both of a quotient are exact, so it is the nearest double.
constexpr std::array<double, 9> kPowersOfTen = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

}  // namespace

bool DecimalPair::note(std::size_t which, const char* at, std::size_t size) {
  if (size == 0 || size > kMostCharacters) return false;
  const std::size_t point = point_in(eight_characters(at), size);
  const bool has_point = point < size;
  if (point == 0 || point + 1 == size) return false;
  const std::size_t digits = has_point ? size - 1 : size;
  const std::uint64_t point_byte = has_point ? std::uint64_t{0xFF} << (8 * point) : 0;
  text[which] = first_bytes(size);
  zero[which] = (all_bytes('0') & ~point_byte) | (all_bytes('.') & point_byte);
  most[which] = all_bytes(9) & ~point_byte;
  before[which] = first_bytes(point);
  after[which] = first_bytes(digits) & ~before[which];
  // The digits are the first ones of eight.
  scale[which] = kPowersOfTen[kMostCharacters - point];
  return true;
}

bool PortableDecimals::read(std::span<const DecimalPair> pairs, const char* const* cells,
                            double* values) {
  constexpr std::uint64_t kHigh = all_bytes(0x80);
  std::uint64_t too_much = 0;  // the highest bit of each byte that is above the most it may be
  for (const DecimalPair& pair : pairs) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t above = (eight_characters(*cells++) ^ pair.zero[i]) & pair.text[i];
      too_much |= (~((pair.most[i] | kHigh) - (above & ~kHigh)) | above) & kHigh;
      const std::int64_t number =
          eight_digits((above & pair.before[i]) | (above >> 8 & pair.after[i]));
      *values++ = static_cast<double>(number) / pair.scale[i];
    }
  }
  return too_much == 0;
}

#if defined(__SSE2__)
bool Sse2Decimals::read(std::span<const DecimalPair> pairs, const char* const* cells,
                        double* values) {
  const auto load = [](const DecimalPair::Both& both) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(both.data()));
  };
  // Two numbers below 2^52 as doubles: their bits are those of a double that is so much larger.
  const __m128d large = _mm_set1_pd(4503599627370496.0);
  __m128i is_right = _mm_set1_epi8(-1);
  for (const DecimalPair& pair : pairs) {
    const __m128i characters =
        _mm_set_epi64x(static_cast<std::int64_t>(eight_characters(cells[1])),
                       static_cast<std::int64_t>(eight_characters(cells[0])));
    const __m128i above =
        _mm_and_si128(_mm_xor_si128(characters, load(pair.zero)), load(pair.text));
    is_right = _mm_and_si128(is_right, _mm_cmpeq_epi8(_mm_min_epu8(above, load(pair.most)), above));
    const __m128i digits = _mm_or_si128(_mm_and_si128(above, load(pair.before)),
                                        _mm_and_si128(_mm_srli_epi64(above, 8), load(pair.after)));
    // Neighbours are joined: digits to pairs, pairs to fours, fours to one number.
    const __m128i firsts = _mm_and_si128(digits, _mm_set1_epi16(0xFF));
    const __m128i twos =
        _mm_add_epi16(_mm_mullo_epi16(firsts, _mm_set1_epi16(10)), _mm_srli_epi16(digits, 8));
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100));
    const __m128i numbers =
        _mm_add_epi64(_mm_mul_epu32(fours, _mm_set1_epi32(10000)), _mm_srli_epi64(fours, 32));
    const __m128d doubles = _mm_sub_pd(_mm_or_pd(_mm_castsi128_pd(numbers), large), large);
    _mm_storeu_pd(values, _mm_div_pd(doubles, _mm_load_pd(pair.scale.data())));
    cells += 2;
    values += 2;
  }
  return _mm_movemask_epi8(is_right) == 0xFFFF;
}
#endif

DecimalCells::DecimalCells(std::vector<std::size_t> columns)
    : columns_(std::move(columns)),
      pairs_((columns_.size() + 1) / 2),
      begins_(2 * pairs_.size()),
      values_(2 * pairs_.size()) {}

bool DecimalCells::read(const LineCells& cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i) begins_[i] = cells[columns_[i]].data();
  if (columns_.size() % 2 == 1) begins_.back() = begins_[columns_.size() - 1];
  if (cells.layout() == layout_ && read_alike()) return true;
  return learn(cells) && read_alike();
}

bool DecimalCells::read_alike() {
#if defined(__SSE2__)
  using Kernel = Sse2Decimals;
#else
  using Kernel = PortableDecimals;
#endif
  return Kernel::read(pairs_, begins_.data(), values_.data());
}

bool DecimalCells::learn(const LineCells& cells) {
  layout_ = 0;
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    const std::string_view cell = cells[columns_[std::min(i, columns_.size() - 1)]];
    if (!pairs_[i / 2].note(i % 2, cell.data(), cell.size())) return false;
  }
  layout_ = cells.layout();
  return true;
}

}  // namespace aggregate_power
