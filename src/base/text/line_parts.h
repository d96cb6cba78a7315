// Splits lines at runs of separators, 64 bytes at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

// How many bytes after the end of a line may be read.
inline constexpr std::size_t kLineSlack = 64;

// Whether two texts are the same, without a call where they are short but not very.
inline bool same_text(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  if (one.size() < 8) return std::memcmp(one.data(), other.data(), one.size()) == 0;
  std::uint64_t different = 0;
  const auto compare_eight = [&](std::size_t at) {
    std::uint64_t left, right;
    std::memcpy(&left, one.data() + at, sizeof(left));
    std::memcpy(&right, other.data() + at, sizeof(right));
    different |= left ^ right;
  };
  const std::size_t last = one.size() - 8;
  for (std::size_t at = 0; at < last; at += 8) compare_eight(at);
  compare_eight(last);
  return different == 0;
}

// Which of the 64 bytes at `block` are one of the separators: bit i stands for byte i.
template <char... kSeparators>
std::uint64_t separators_in(const char* block) {
  std::uint64_t found = 0;
#if defined(__SSE2__)
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + part);
    const __m128i equal = (... | _mm_cmpeq_epi8(bytes, _mm_set1_epi8(kSeparators)));
    found |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal)))
             << (16 * part);
  }
#else
  for (int i = 0; i < 64; ++i) {
    found |= static_cast<std::uint64_t>((... || (block[i] == kSeparators))) << i;
  }
#endif
  return found;
}

// The words of one line after another, which is kept from split() to split(): what is between
// separators, of which there may be several in a row. kLineSlack bytes after each line must be
// readable.
template <char... kSeparators>
class LineWords {
 public:
  void split(std::string_view line) {
    line_ = line.data();
    // Rows of a table usually have their words in the same places.
    bool is_like_last = line.size() == line_size_;
    line_size_ = line.size();
    between_.resize(line.size() / 64 + 1);
    for (std::size_t i = 0; i < between_.size(); ++i) {
      std::uint64_t between = separators_in<kSeparators...>(line.data() + 64 * i);
      const std::size_t left = line.size() - 64 * i;
      if (left < 64) between |= ~std::uint64_t{0} << left;
      is_like_last = is_like_last && between == between_[i];
      between_[i] = between;
    }
    if (!is_like_last) find_edges();
  }
  // The words of a line that has them in the same places as the one that was split last.
  void move_to(const char* line) { line_ = line; }
  std::size_t size() const { return size_; }
  // Counts the layouts: lines with the same one in a row have their words in the same places. 0:
  // there was no line.
  std::uint64_t layout() const { return layout_; }
  std::string_view operator[](std::size_t i) const {
    return {line_ + edges_[2 * i], edges_[2 * i + 1] - edges_[2 * i]};
  }
  // From the first to the last of these words, with what is between them.
  std::string_view from_to(std::size_t first, std::size_t last) const {
    return {line_ + edges_[2 * first], edges_[2 * last + 1] - edges_[2 * first]};
  }

 private:
  void find_edges() {
    ++layout_;
    if (edges_.size() < line_size_ + 2) edges_.resize(line_size_ + 2);
    std::uint32_t* edge = edges_.data();
    std::uint64_t is_between = 1;  // the byte before is not in a word
    std::uint32_t at = 0;
    for (const std::uint64_t between : between_) {
      std::uint64_t edges = between ^ (between << 1 | is_between);
      is_between = between >> 63;
      for (; edges != 0; edges &= edges - 1) {
        *edge++ = at + static_cast<std::uint32_t>(std::countr_zero(edges));
      }
      at += 64;
    }
    size_ = static_cast<std::size_t>(edge - edges_.data()) / 2;
  }

  const char* line_ = nullptr;
  std::size_t line_size_ = std::string_view::npos;
  std::vector<std::uint64_t> between_;  // which bytes of the line are not in words, 64 at a time
  std::vector<std::uint32_t> edges_;    // where each word begins and ends
  std::size_t size_ = 0;
  std::uint64_t layout_ = 0;
};

}  // namespace aggregate_power
