// Recognizes elements of an array that are laid out like the one before: numbers, or pairs of
// numbers, with their digits in the same places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text/decimal_layout.h"
#include "base/text/json.h"
#include "base/text/json_plain.h"
#include "base/text/patience.h"

namespace aggregate_power {

class JsonElementLayout {
 public:
  // From here on, this is the layout of `element`, which has these scalars and ends with a comma.
  // It fits nothing if one of them is not a decimal, or if the element is long.
  void learn(std::string_view element, const JsonPair& scalars) {
    if (patience_.is_due()) learn_all(element, scalars);
  }
  void learn(std::string_view element, const JsonScalar& scalar) {
    if (patience_.is_due()) learn_all(element, std::span(&scalar, 1));
  }

  // Whether an element at `p`, in a buffer as json_plain.h has it, has this layout.
  [[gnu::always_inline]] bool fits(const char* p) const {
    if (size_ == 0) return false;
#if defined(__SSE2__)
    const auto misfits = [&](std::size_t at) {
      const auto load = [at](const void* from) {
        return _mm_loadu_si128(
            reinterpret_cast<const __m128i*>(static_cast<const char*>(from) + at));
      };
      const __m128i above = _mm_sub_epi8(load(p), load(lowest_.data()));
      return _mm_subs_epu8(above, load(range_.data()));
    };
    const __m128i found = _mm_or_si128(misfits(0), misfits(kMost / 2));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_setzero_si128())) == 0xFFFF;
#else
    bool all_fit = true;
    for (std::size_t i = 0; i < kMost; ++i) {
      all_fit &= static_cast<std::uint8_t>(p[i] - lowest_[i]) <= range_[i];
    }
    return all_fit;
#endif
  }

  // Reads the element at `p`, which has this layout, and returns its end.
  [[gnu::always_inline]] const char* read(const char* p, JsonPair& pair) {
    places_[1].read(p, pair[1]);
    return read(p, pair[0]);
  }
  [[gnu::always_inline]] const char* read(const char* p, JsonScalar& scalar) {
    places_[0].read(p, scalar);
    patience_.reward();
    return p + size_;
  }

 private:
  struct Place {
    std::size_t begin = 0;
    std::size_t size = 0;
    JsonKind kind = JsonKind::null;
    DecimalLayout decimal;

    [[gnu::always_inline]] void read(const char* p, JsonScalar& scalar) const {
      scalar.kind = kind;
      scalar.text = {p + begin, size};
      scalar.number = decimal.read(p + begin);
    }
  };

  void learn_all(std::string_view element, std::span<const JsonScalar> scalars);

  static constexpr std::size_t kMost = 32;

  std::size_t size_ = 0;
  // By byte of the element: from `lowest` on, so many more.
  std::array<std::uint8_t, kMost> lowest_{};
  std::array<std::uint8_t, kMost> range_{};
  std::array<Place, 2> places_;
  Patience patience_ = Patience(1);  // one that differs from all others makes no difference
};

}  // namespace aggregate_power
