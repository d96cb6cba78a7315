// Learns where the digits of a row are, and reads the rows that are laid out like it.
#include "base/text/decimal_cells.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/text/byte_masks.h"
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

bool DecimalFour::note(std::size_t which, const char* at, std::size_t size) {
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

bool PortableDecimals::read(std::span<const DecimalFour> fours, const char* const* cells,
                            double* values) {
  constexpr std::uint64_t kHigh = all_bytes(0x80);
  std::uint64_t too_much = 0;  // the highest bit of each byte that is above the most it may be
  for (const DecimalFour& four : fours) {
    for (std::size_t i = 0; i < DecimalFour::kCells; ++i) {
      const std::uint64_t above = (eight_characters(*cells++) ^ four.zero[i]) & four.text[i];
      too_much |= (~((four.most[i] | kHigh) - (above & ~kHigh)) | above) & kHigh;
      const std::int64_t number =
          eight_digits((above & four.before[i]) | (above >> 8 & four.after[i]));
      *values++ = static_cast<double>(number) / four.scale[i];
    }
  }
  return too_much == 0;
}

#if defined(__SSE2__)
bool Sse2Decimals::read(std::span<const DecimalFour> fours, const char* const* cells,
                        double* values) {
  // Two numbers below 2^52 as doubles: their bits are those of a double that is so much larger.
  const __m128d large = _mm_set1_pd(4503599627370496.0);
  __m128i is_right = _mm_set1_epi8(-1);
  for (const DecimalFour& four : fours) {
    for (std::size_t half = 0; half < DecimalFour::kCells; half += 2) {
      const auto load = [half](const DecimalFour::All& all) {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(&all[half]));
      };
      const __m128i characters =
          _mm_set_epi64x(static_cast<std::int64_t>(eight_characters(cells[half + 1])),
                         static_cast<std::int64_t>(eight_characters(cells[half])));
      const __m128i above =
          _mm_and_si128(_mm_xor_si128(characters, load(four.zero)), load(four.text));
      is_right =
          _mm_and_si128(is_right, _mm_cmpeq_epi8(_mm_min_epu8(above, load(four.most)), above));
      const __m128i digits =
          _mm_or_si128(_mm_and_si128(above, load(four.before)),
                       _mm_and_si128(_mm_srli_epi64(above, 8), load(four.after)));
      // Neighbours are joined: digits to pairs, pairs to fours, fours to one number.
      const __m128i firsts = _mm_and_si128(digits, _mm_set1_epi16(0xFF));
      const __m128i twos =
          _mm_add_epi16(_mm_mullo_epi16(firsts, _mm_set1_epi16(10)), _mm_srli_epi16(digits, 8));
      const __m128i fours_joined = _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100));
      const __m128i numbers = _mm_add_epi64(_mm_mul_epu32(fours_joined, _mm_set1_epi32(10000)),
                                            _mm_srli_epi64(fours_joined, 32));
      const __m128d doubles = _mm_sub_pd(_mm_or_pd(_mm_castsi128_pd(numbers), large), large);
      _mm_storeu_pd(values + half, _mm_div_pd(doubles, _mm_load_pd(&four.scale[half])));
    }
    cells += DecimalFour::kCells;
    values += DecimalFour::kCells;
  }
  return _mm_movemask_epi8(is_right) == 0xFFFF;
}
#endif

#if defined(__x86_64__)
[[AGGREGATE_POWER_AVX2]] static __m256i load_all(const DecimalFour::All& all) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(all.data()));
}

[[AGGREGATE_POWER_AVX2]] bool Avx2Decimals::read(std::span<const DecimalFour> fours,
                                                 const char* const* cells, double* values) {
  // As above, four cells in the place of two.
  const __m256d large = _mm256_set1_pd(4503599627370496.0);
  __m256i is_right = _mm256_set1_epi8(-1);
  for (const DecimalFour& four : fours) {
    const __m256i text = load_all(four.text);
    const __m256i zero = load_all(four.zero);
    const __m256i most = load_all(four.most);
    const __m256i before = load_all(four.before);
    const __m256i after = load_all(four.after);
    const __m256i characters =
        _mm256_set_epi64x(static_cast<std::int64_t>(eight_characters(cells[3])),
                          static_cast<std::int64_t>(eight_characters(cells[2])),
                          static_cast<std::int64_t>(eight_characters(cells[1])),
                          static_cast<std::int64_t>(eight_characters(cells[0])));
    const __m256i above = _mm256_and_si256(_mm256_xor_si256(characters, zero), text);
    is_right = _mm256_and_si256(is_right, _mm256_cmpeq_epi8(_mm256_min_epu8(above, most), above));
    const __m256i digits = _mm256_or_si256(_mm256_and_si256(above, before),
                                           _mm256_and_si256(_mm256_srli_epi64(above, 8), after));
    const __m256i firsts = _mm256_and_si256(digits, _mm256_set1_epi16(0xFF));
    const __m256i twos = _mm256_add_epi16(_mm256_mullo_epi16(firsts, _mm256_set1_epi16(10)),
                                          _mm256_srli_epi16(digits, 8));
    const __m256i joined = _mm256_madd_epi16(twos, _mm256_set1_epi32(1 << 16 | 100));
    const __m256i numbers = _mm256_add_epi64(_mm256_mul_epu32(joined, _mm256_set1_epi32(10000)),
                                             _mm256_srli_epi64(joined, 32));
    const __m256d doubles = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(numbers), large), large);
    _mm256_storeu_pd(values, _mm256_div_pd(doubles, _mm256_load_pd(four.scale.data())));
    cells += DecimalFour::kCells;
    values += DecimalFour::kCells;
  }
  return _mm256_movemask_epi8(is_right) == -1;
}
#endif

DecimalCells::DecimalCells(std::vector<std::size_t> columns)
    : columns_(std::move(columns)), cells_(columns_.size()) {
  make_room(columns_.size());
#if defined(__x86_64__)
  has_avx2_ = Avx2Kernel::is_supported();
#endif
}

void DecimalCells::make_room(std::size_t count) {
  fours_.resize((count + DecimalFour::kCells - 1) / DecimalFour::kCells);
  begins_.resize(DecimalFour::kCells * fours_.size());
  values_.resize(begins_.size());
  // What makes the last four complete.
  static constexpr char kNothing[kMostCharacters] = {};
  std::fill(begins_.begin() + static_cast<std::ptrdiff_t>(count), begins_.end(), kNothing);
}

bool DecimalCells::read_alike() {
  for (const LongInteger& integer : long_) {
    begins_[integer.last] = begins_[integer.column] + integer.first_digits;
  }
#if defined(__SSE2__)
  using Kernel = Sse2Decimals;
#else
  using Kernel = PortableDecimals;
#endif
  const auto read = [this](auto kernel) {
    return decltype(kernel)::read(fours_, begins_.data(), values_.data());
  };
#if defined(__x86_64__)
  const bool are_read = has_avx2_ ? read(Avx2Decimals()) : read(Kernel());
#else
  const bool are_read = read(Kernel());
#endif
  if (!are_read) return false;
  for (const LongInteger& integer : long_) {
    values_[integer.column] = values_[integer.column] * 1e8 + values_[integer.last];
  }
  return true;
}

bool DecimalCells::learn() {
  constexpr std::size_t kMostDigits = 15;  // of which each number is a double
  long_.clear();
  std::size_t count = columns_.size();
  const auto note = [&](std::size_t which, std::string_view text) {
    return fours_[which / DecimalFour::kCells].note(which % DecimalFour::kCells, text.data(),
                                                    text.size());
  };
  fours_.assign(fours_.size(), {});
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::string_view cell = cells_[i];
    if (cell.size() > kMostCharacters) {
      if (cell.size() > kMostDigits || cell.find('.') != cell.npos) return false;
      const std::size_t first_digits = cell.size() - kMostCharacters;
      long_.push_back({i, count++, first_digits});
      make_room(count);
      std::ignore = note(long_.back().last, cell.substr(first_digits));  // it has no point
      cell = cell.substr(0, first_digits);
    }
    if (!note(i, cell)) return false;
  }
  make_room(count);
  return true;
}

}  // namespace aggregate_power
