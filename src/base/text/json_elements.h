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

// Of elements that are JsonScalar or JsonPair.
template <typename Element>
class JsonElementLayout {
 public:
  // An element that does not have this layout: its own may be the layout from here on. `text` is
  // the element with what is before it, and the comma after it. A layout is for decimals, and not
  // for long elements.
  void learn(std::string_view text, const Element& element);

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
    __m128i found = misfits(0);
    if constexpr (kMost > 16) found = _mm_or_si128(found, misfits(16));
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
  [[gnu::always_inline]] const char* read(const char* p, Element& element) {
    ++in_a_row_;
    const std::span<JsonScalar, kScalars> scalars = scalars_of(element);
    for (std::size_t i = 0; i < kScalars; ++i) places_[i].read(p, scalars[i]);
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

  static constexpr std::size_t kScalars = sizeof(Element) / sizeof(JsonScalar);
  static constexpr std::size_t kMost = 16 * kScalars;
  static constexpr std::size_t kOfUse = 4;  // in a row: learning takes as long as reading a few

  template <typename Any>
  static auto scalars_of(Any& element) {
    if constexpr (kScalars == 1) {
      return std::span<Any, 1>(&element, 1);
    } else {
      return std::span(element);
    }
  }

  std::size_t size_ = 0;
  // By byte of the element: from `lowest` on, so many more.
  std::array<std::uint8_t, kMost> lowest_{};
  std::array<std::uint8_t, kMost> range_{};
  std::array<Place, kScalars> places_;
  std::size_t in_a_row_ = 0;         // elements that had this layout, up to now
  Patience patience_ = Patience(1);  // one that differs from all others makes no difference
};

}  // namespace aggregate_power
